#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensor/cuda/cuda_support.h"
#include "tensor/cuda/libraries/dynamic_library.h"
#include "tools/command_line/human_format.h"
#include "tools/doctor/findings.h"

namespace ps {
namespace {

constexpr char kNoGpu[] =
    "training on a GPU does not work; on the CPU it does. ";

// The functions are those of cuda.h, library_types.h, cublas_api.h and cudnn.h.
// They are declared here because this file is also built without the toolkit.
constexpr int kComputeCapabilityMajor = 75;  // CU_DEVICE_ATTRIBUTE_...
constexpr int kComputeCapabilityMinor = 76;

// The library's function of this name and type; null if it has none.
template <typename Function>
Function* Find(const DynamicLibrary& library, const char* name) {
  Function* function = nullptr;
  return library.Find(name, &function).ok() ? function : nullptr;
}

absl::StatusOr<DynamicLibrary> Open(const char* file) {
  return DynamicLibrary::Open({file});
}

std::string DeviceText(const DynamicLibrary& driver, int device) {
  char name[256] = "a device without a name";
  size_t bytes = 0;
  int major = 0, minor = 0;
  if (auto* get = Find<int(char*, int, int)>(driver, "cuDeviceGetName")) {
    get(name, sizeof(name), device);
  }
  if (auto* get = Find<int(size_t*, int)>(driver, "cuDeviceTotalMem_v2")) {
    get(&bytes, device);
  }
  if (auto* get = Find<int(int*, int, int)>(driver, "cuDeviceGetAttribute")) {
    get(&major, kComputeCapabilityMajor, device);
    get(&minor, kComputeCapabilityMinor, device);
  }
  return absl::StrCat(name, ", ", FormatBytes(static_cast<int64_t>(bytes)),
                      ", compute capability ", major, ".", minor);
}

// Adds the driver and its devices. Returns whether there is a device.
bool AddDriver(int build_version, std::vector<Finding>* findings) {
  Finding driver{"driver"};
  const auto library = Open("libcuda.so.1");
  if (!library.ok()) {
    driver.text = std::string(library.status().message());
    driver.consequence =
        absl::StrCat(kNoGpu,
                     "Install NVIDIA's driver; in a container, give "
                     "it the GPU");
    findings->push_back(driver);
    return false;
  }
  int version = 0;
  if (auto* get = Find<int(int*)>(*library, "cuDriverGetVersion")) {
    get(&version);
  }
  driver.text = absl::StrCat("for CUDA up to ", CudaVersionText(version), ", ",
                             library->path());
  // Within one major version, programs run with an older driver.
  if (version / 1000 < build_version / 1000) {
    driver.consequence = absl::StrCat(
        kNoGpu, "This build is made with CUDA ", CudaVersionText(build_version),
        ": install a newer driver, or build with CUDA ", version / 1000);
  }
  findings->push_back(driver);

  Finding devices{"devices"};
  auto* init = Find<int(unsigned)>(*library, "cuInit");
  auto* count_devices = Find<int(int*)>(*library, "cuDeviceGetCount");
  int count = 0;
  int error = init == nullptr || count_devices == nullptr ? -1 : init(0);
  if (error == 0) error = count_devices(&count);
  if (error != 0 || count == 0) {
    devices.text =
        error == 0
            ? "none"
            : absl::StrCat("the driver does not start: CUDA error ", error);
    devices.consequence =
        absl::StrCat(kNoGpu,
                     "nvidia-smi says what the driver sees; in a "
                     "container, give it the GPU");
    findings->push_back(devices);
    return false;
  }
  for (int i = 0; i < count; ++i) {
    findings->push_back({absl::StrCat("device ", i), DeviceText(*library, i)});
  }
  return true;
}

struct CudaLibrary {
  std::string subject;
  std::string file;
  std::string consequence;
  // Version of the loaded library; empty if it is unknown.
  std::function<std::string(const DynamicLibrary&)> version;
};

std::string CublasVersion(const DynamicLibrary& library) {
  auto* get = Find<int(int, int*)>(library, "cublasGetProperty");
  int parts[3] = {};
  for (int part = 0; part < 3; ++part) {
    // MAJOR_VERSION, MINOR_VERSION and PATCH_LEVEL are 0, 1 and 2.
    if (get == nullptr || get(part, &parts[part]) != 0) return "";
  }
  return absl::StrCat(parts[0], ".", parts[1], ".", parts[2]);
}

std::string CudnnVersion(const DynamicLibrary& library) {
  auto* get = Find<size_t()>(library, "cudnnGetVersion");
  if (get == nullptr) return "";
  const size_t version = get();
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".",
                      version % 100);
}

std::vector<CudaLibrary> Libraries(int build_version) {
  const int major = build_version / 1000;
  const std::string products = absl::StrCat(
      "matrix products on the GPU do not work, and therefore "
      "training does not either. Install CUDA ",
      major,
      "'s libraries, or name their folder in "
      "LD_LIBRARY_PATH");
  const std::string convolutions =
      "convolutions and recurrent layers do not work on the GPU. Install "
      "cuDNN 9 for this CUDA, or name its folder in LD_LIBRARY_PATH";
  const auto no_version = [](const DynamicLibrary&) { return std::string(); };
  return {
      {"cuBLAS", absl::StrCat("libcublas.so.", major), products, CublasVersion},
      {"cuDNN", "libcudnn.so.9", convolutions, CudnnVersion},
      // cuDNN loads these only when it needs them.
      {"cuDNN graph", "libcudnn_graph.so.9", convolutions, no_version},
      {"cuDNN ops", "libcudnn_ops.so.9", convolutions, no_version},
      {"cuDNN cnn", "libcudnn_cnn.so.9", convolutions, no_version},
      {"cuDNN adv", "libcudnn_adv.so.9", convolutions, no_version},
      {"cuDNN engines", "libcudnn_engines_precompiled.so.9", convolutions,
       no_version},
      {"cuDNN choice", "libcudnn_heuristic.so.9", convolutions, no_version},
  };
}

}  // namespace

std::string CudaVersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

FindingGroup FindCuda() {
  const CudaSupport* const cuda = FindCudaSupport();
  return FindCuda(cuda == nullptr ? 0 : cuda->build_version);
}

FindingGroup FindCuda(int build_version) {
  FindingGroup group{"CUDA, for training on a GPU"};
  if (build_version == 0) {
    group.findings.push_back(
        {"this build", "was made without the CUDA toolkit",
         absl::StrCat(kNoGpu, "Build it on a machine with the toolkit")});
    return group;
  }
  group.findings.push_back(
      {"this build",
       absl::StrCat("was made with CUDA ", CudaVersionText(build_version),
                    " for compute capability 8.0 and 9.x")});
  if (AddDriver(build_version, &group.findings)) {
    const CudaSupport* const cuda = FindCudaSupport();
    const absl::Status check =
        cuda == nullptr
            ? absl::UnavailableError("this build has no CUDA support")
            : cuda->self_check();
    group.findings.push_back({"a kernel",
                              check.ok()
                                  ? "runs on device 0, with the right result"
                                  : std::string(check.message()),
                              check.ok() ? "" : kNoGpu});
  }
  for (const CudaLibrary& wanted : Libraries(build_version)) {
    const auto library = Open(wanted.file.c_str());
    if (!library.ok()) {
      group.findings.push_back({wanted.subject,
                                std::string(library.status().message()),
                                wanted.consequence});
      continue;
    }
    const std::string version = wanted.version(*library);
    group.findings.push_back(
        {wanted.subject,
         absl::StrCat(version, version.empty() ? "" : ", ", library->path())});
  }
  return group;
}

}  // namespace ps
