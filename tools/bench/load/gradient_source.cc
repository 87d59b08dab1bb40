#include "tools/bench/load/gradient_source.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "formats/npy.h"

namespace ps {
namespace {

constexpr int64_t kTable = int64_t{1} << 20;
constexpr int64_t kStretch = int64_t{1} << 14;
// Far from any multiple of the usual row lengths, so that a shifted row does
// not line up with the model again.
constexpr int64_t kShift = 1000003;

class Generated final : public GradientSource {
 public:
  explicit Generated(uint64_t seed) : seed_(seed), table_(kTable) {
    RandomStream random(RandomKey(seed));
    for (float& x : table_) {
      const double magnitude = -std::log(1 - random.Uniform());
      x = static_cast<float>(random.Next() % 2 == 0 ? magnitude : -magnitude);
    }
  }

  absl::Status Read(int64_t number, int64_t begin,
                    absl::Span<float> out) const override {
    int64_t i = begin;
    float* to = out.data();
    float* const end = to + out.size();
    while (to < end) {
      const uint64_t stretch = static_cast<uint64_t>(i / kStretch);
      const int64_t start = static_cast<int64_t>(
          RandomKey(seed_, static_cast<uint64_t>(number), stretch) %
          (kTable - kStretch));
      const int64_t within = i % kStretch;
      const int64_t n = std::min<int64_t>(kStretch - within, end - to);
      to = std::copy_n(table_.begin() + start + within, n, to);
      i += n;
    }
    return absl::OkStatus();
  }

 private:
  const uint64_t seed_;
  std::vector<float> table_;
};

class OfFile final : public GradientSource {
 public:
  explicit OfFile(NpyReader<float> file) : file_(std::move(file)) {}

  absl::Status Read(int64_t number, int64_t begin,
                    absl::Span<float> out) const override {
    const int64_t row = number % file_.rows();
    const int64_t n = file_.row_elements();
    // Both factors are reduced first so that their product does not overflow.
    const int64_t shift = (number / file_.rows()) % n * (kShift % n) % n;
    int64_t at = (begin + shift) % n;
    while (!out.empty()) {
      const auto part = out.first(std::min<size_t>(out.size(), n - at));
      PS_RETURN_IF_ERROR(file_.Read(row * n + at, part));
      for (size_t i = 0; i < part.size(); ++i) {
        if (std::isfinite(part[i])) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(file_.path(), ", row ", row, ", element ",
                         at + static_cast<int64_t>(i), " (both from 0) is ",
                         part[i], "; must be finite"));
      }
      out.remove_prefix(part.size());
      at = 0;
    }
    return absl::OkStatus();
  }

 private:
  const NpyReader<float> file_;
};

absl::StatusOr<NpyReader<float>> OpenFile(const std::string& path) {
  PS_ASSIGN_OR_RETURN(NpyReader<float> file, NpyReader<float>::Open(path));
  if (file.num_elements() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " has ", file.rows(), " rows of ", file.row_elements(),
        " elements; must have at least 1 of 1"));
  }
  return file;
}

}  // namespace

std::unique_ptr<GradientSource> GeneratedGradients(uint64_t seed) {
  return std::make_unique<Generated>(seed);
}

absl::StatusOr<std::unique_ptr<GradientSource>> GradientsOfFile(
    const std::string& path) {
  PS_ASSIGN_OR_RETURN(NpyReader<float> file, OpenFile(path));
  return std::make_unique<OfFile>(std::move(file));
}

absl::StatusOr<int64_t> GradientFileElements(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const NpyReader<float> file, OpenFile(path));
  return file.row_elements();
}

}  // namespace ps
