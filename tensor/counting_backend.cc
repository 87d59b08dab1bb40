#include "tensor/counting_backend.h"

#include <sys/mman.h>

#include <cstddef>
#include <memory>

#include "absl/strings/str_cat.h"

namespace ps {

absl::StatusOr<Tensor> CountingBackend::Allocate(const Shape& shape) {
  const int64_t bytes =
      NumElements(shape) * static_cast<int64_t>(sizeof(float));
  const size_t mapped = static_cast<size_t>(bytes) + 1;  // The size is never 0.
  void* const data = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a tensor of shape ", ShapeString(shape)));
  }
  bytes_ += bytes;
  return Tensor(
      std::shared_ptr<float>(static_cast<float*>(data),
                             [mapped](float* data) { munmap(data, mapped); }),
      shape);
}

}  // namespace ps
