#include "tests/tensor/cuda/layers/fake_cudnn.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tests/tensor/cuda/layers/fake_cudnn_parts.h"

namespace ps {
namespace {

constexpr size_t kWorkspaceBytes = 1000;
// The algorithms of every pass, in the order of the heuristics.
constexpr int kAtomics = 3;
constexpr int kHuge = 2;
constexpr int kGood = 1;

using namespace fake_cudnn;

// Allows the types and formats that can be combined ("cuDNN API", the
// convolutions' tables of configurations).
cudnnStatus_t SetTensor(Tensor4* tensor, const Tensor4& to, const char* name) {
  CHECK((to.type == CUDNN_DATA_FLOAT && to.format == CUDNN_TENSOR_NCHW) ||
        (to.type == CUDNN_DATA_BFLOAT16 && to.format == CUDNN_TENSOR_NHWC));
  *tensor = to;
  return fake->failing == name ? fake->failure : CUDNN_STATUS_SUCCESS;
}

struct Convolution {
  int padding_h, padding_w, stride_h, stride_w, groups;
  cudnnMathType_t math;
};

template <typename Performance, typename Algorithm>
cudnnStatus_t Heuristics(const char* pass, int requested, int* returned,
                         Performance* found) {
  CHECK_GE(requested, 3);
  const int algorithms[] = {kAtomics, kHuge, kGood};
  *returned = fake->only_atomics.count(pass) > 0 ? 1 : 3;
  for (int i = 0; i < *returned; ++i) {
    found[i].algo = static_cast<Algorithm>(algorithms[i]);
    found[i].status = CUDNN_STATUS_SUCCESS;
    found[i].memory = 0;  // For other math than the descriptor's.
    found[i].determinism = algorithms[i] == kAtomics ? CUDNN_NON_DETERMINISTIC
                                                     : CUDNN_DETERMINISTIC;
    // Not the same for all.
    found[i].mathType =
        algorithms[i] == kAtomics ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
  }
  return Call("heuristics");
}

// The heuristics' algorithms by their times, those last that fail.
template <typename Algorithm, typename Performance>
cudnnStatus_t Find(const char* pass, int requested, int* returned,
                   Performance* found, void* workspace,
                   size_t workspace_bytes) {
  ++fake->num_timings;
  CHECK(workspace != nullptr);
  Heuristics<Performance, Algorithm>(pass, requested, returned, found);
  for (int i = 0; i < *returned; ++i) {
    found[i].time = fake->milliseconds[found[i].algo];
    if (fake->broken.count(found[i].algo) > 0 || found[i].algo == kHuge ||
        workspace_bytes < kWorkspaceBytes) {
      found[i].status = CUDNN_STATUS_EXECUTION_FAILED;
    }
  }
  std::stable_sort(found, found + *returned,
                   [](const Performance& a, const Performance& b) {
                     return std::make_pair(a.status, a.time) <
                            std::make_pair(b.status, b.time);
                   });
  return Call("find");
}

cudnnStatus_t WorkspaceBytes(int algorithm, size_t* size) {
  *size = algorithm == kHuge ? size_t{1} << 40 : kWorkspaceBytes;
  return CUDNN_STATUS_SUCCESS;
}

// Calls body(position in x, position in weight, position in y) for every
// product of the convolution.
template <typename Body>
void ForEachProduct(const Tensor4& x, const Tensor4& w, const Tensor4& y,
                    const Convolution& c, const Body& body) {
  CHECK_EQ(w.c * c.groups, x.c);
  CHECK_EQ(w.n, y.c);
  CHECK_EQ(x.n, y.n);
  CHECK_EQ((x.h + 2 * c.padding_h - w.h) / c.stride_h + 1, y.h);
  CHECK_EQ((x.w + 2 * c.padding_w - w.w) / c.stride_w + 1, y.w);
  int64_t i = 0;
  for (int64_t image = 0; image < y.n; ++image) {
    for (int64_t out = 0; out < y.c; ++out) {
      const int64_t first_channel = image * x.c + out / (y.c / c.groups) * w.c;
      for (int row = 0; row < y.h; ++row) {
        for (int column = 0; column < y.w; ++column, ++i) {
          int64_t k = out * w.c * w.h * w.w;
          for (int in = 0; in < w.c; ++in) {
            for (int w_row = 0; w_row < w.h; ++w_row) {
              const int h = row * c.stride_h - c.padding_h + w_row;
              for (int w_column = 0; w_column < w.w; ++w_column, ++k) {
                const int v = column * c.stride_w - c.padding_w + w_column;
                if (h < 0 || h >= x.h || v < 0 || v >= x.w) continue;
                body(((first_channel + in) * x.h + h) * x.w + v, k, i);
              }
            }
          }
        }
      }
    }
  }
}

int64_t Size(const Tensor4& t) { return int64_t{t.n} * t.c * t.h * t.w; }

// The elements in the order n, c, h, w; none without data.
std::vector<float> Floats(const Tensor4& tensor, const void* data) {
  std::vector<float> floats(data == nullptr ? 0 : Size(tensor));
  for (size_t i = 0; i < floats.size(); ++i) {
    floats[i] = tensor.Load(data, static_cast<int64_t>(i));
  }
  return floats;
}

// target[f(i)] = a sum of products, in floats: one pass of the convolution.
enum class Pass { kForward, kData, kFilter };
void Compute(Pass pass, const Tensor4& xd, const void* x, const Tensor4& wd,
             const void* w, const Tensor4& yd, const void* y,
             const Convolution& c, void* target) {
  const Tensor4& td = pass == Pass::kForward ? yd
                      : pass == Pass::kData  ? xd
                                             : wd;
  const std::vector<float> xs = Floats(xd, x), ws = Floats(wd, w),
                           ys = Floats(yd, y);
  std::vector<float> sums(Size(td));
  ForEachProduct(xd, wd, yd, c, [&](int64_t ix, int64_t iw, int64_t iy) {
    switch (pass) {
      case Pass::kForward:
        sums[iy] += xs[ix] * ws[iw];
        break;
      case Pass::kData:
        sums[ix] += ys[iy] * ws[iw];
        break;
      case Pass::kFilter:
        sums[iw] += xs[ix] * ys[iy];
        break;
    }
  });
  for (int64_t i = 0; i < Size(td); ++i) td.Store(sums[i], i, target);
}

cudnnStatus_t Run(cudnnHandle_t handle, Pass pass, const char* name,
                  const Tensor4& xd, const void* x, const Tensor4& wd,
                  const void* w, const Tensor4& yd, const void* y,
                  const Convolution& c, int algorithm, void* workspace,
                  size_t workspace_bytes, const void* alpha, const void* beta,
                  void* target) {
  ++fake->num_calls;
  fake->algorithm = algorithm;
  fake->math = c.math;
  if (fake->broken.count(algorithm) > 0) return CUDNN_STATUS_EXECUTION_FAILED;
  if (workspace_bytes < kWorkspaceBytes || algorithm == kHuge) {
    return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  }
  for (const void* const data : {x, w, y, const_cast<const void*>(target)}) {
    if (reinterpret_cast<uintptr_t>(data) % 16 != 0) {
      return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
    }
  }
  CHECK(xd.type == wd.type && wd.type == yd.type);
  CHECK_EQ(*static_cast<const float*>(alpha), 1);
  CHECK_EQ(*static_cast<const float*>(beta), 0);
  // Descriptors may be destroyed before the work runs.
  return Queue(handle, name, [=] {
    std::memset(workspace, 0xff, workspace_bytes);
    Compute(pass, xd, x, wd, w, yd, y, c, target);
  });
}

}  // namespace

FakeCudnn* fake_cudnn::fake = nullptr;

FakeCudnn::FakeCudnn() : before_(fake) { fake = this; }

FakeCudnn::~FakeCudnn() { fake = before_; }

CudnnFunctions FakeCudnn::Functions() {
  CudnnFunctions f;
  f.create = [](cudnnHandle_t* handle) {
    Create<Handle>(handle);
    return Call("create");
  };
  f.destroy = [](cudnnHandle_t handle) { return Destroy<Handle>(handle); };
  f.set_stream = [](cudnnHandle_t handle, cudaStream_t stream) {
    As<Handle>(handle).stream = stream;
    return Call("set_stream");
  };
  f.get_error_string = [](cudnnStatus_t) { return "CUDNN_STATUS_FAKE"; };
  f.create_tensor = [](cudnnTensorDescriptor_t* d) {
    return Create<Tensor4>(d);
  };
  f.destroy_tensor = [](cudnnTensorDescriptor_t d) {
    return Destroy<Tensor4>(d);
  };
  f.set_tensor = [](cudnnTensorDescriptor_t d, cudnnTensorFormat_t format,
                    cudnnDataType_t type, int n, int c, int h, int w) {
    return SetTensor(&As<Tensor4>(d), {n, c, h, w, type, format}, "set_tensor");
  };
  f.set_tensor_nd = [](cudnnTensorDescriptor_t d, cudnnDataType_t type,
                       int num_extents, const int extents[],
                       const int strides[]) {
    CHECK_EQ(num_extents, 3);
    CHECK_EQ(strides[0], extents[1] * extents[2]);
    CHECK_EQ(strides[1], extents[2]);
    CHECK_EQ(strides[2], 1);
    As<Tensor4>(d) = {extents[0], extents[1], extents[2],
                      1,          type,       CUDNN_TENSOR_NCHW};
    return Call("set_tensor_nd");
  };
  f.create_filter = [](cudnnFilterDescriptor_t* d) {
    return Create<Tensor4>(d);
  };
  f.destroy_filter = [](cudnnFilterDescriptor_t d) {
    return Destroy<Tensor4>(d);
  };
  f.set_filter = [](cudnnFilterDescriptor_t d, cudnnDataType_t type,
                    cudnnTensorFormat_t format, int k, int c, int h, int w) {
    return SetTensor(&As<Tensor4>(d), {k, c, h, w, type, format}, "set_filter");
  };
  f.create_convolution = [](cudnnConvolutionDescriptor_t* d) {
    return Create<Convolution>(d);
  };
  f.destroy_convolution = [](cudnnConvolutionDescriptor_t d) {
    return Destroy<Convolution>(d);
  };
  f.set_convolution = [](cudnnConvolutionDescriptor_t d, int pad_h, int pad_w,
                         int u, int v, int dilation_h, int dilation_w,
                         cudnnConvolutionMode_t mode, cudnnDataType_t type) {
    CHECK(dilation_h == 1 && dilation_w == 1);
    CHECK_EQ(mode, CUDNN_CROSS_CORRELATION);
    CHECK_EQ(type, CUDNN_DATA_FLOAT);
    As<Convolution>(d) = {pad_h, pad_w, u, v, 1, CUDNN_DEFAULT_MATH};
    return Call("set_convolution");
  };
  f.set_math_type = [](cudnnConvolutionDescriptor_t d, cudnnMathType_t math) {
    As<Convolution>(d).math = math;
    return Call("set_math_type");
  };
  f.set_group_count = [](cudnnConvolutionDescriptor_t d, int groups) {
    As<Convolution>(d).groups = groups;
    return Call("set_group_count");
  };

  f.forward_algorithms = [](cudnnHandle_t, cudnnTensorDescriptor_t,
                            cudnnFilterDescriptor_t,
                            cudnnConvolutionDescriptor_t,
                            cudnnTensorDescriptor_t, int requested,
                            int* returned,
                            cudnnConvolutionFwdAlgoPerf_t* found) {
    return Heuristics<cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionFwdAlgo_t>(
        "forward", requested, returned, found);
  };
  f.backward_data_algorithms =
      [](cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t,
         cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t, int requested,
         int* returned, cudnnConvolutionBwdDataAlgoPerf_t* found) {
        return Heuristics<cudnnConvolutionBwdDataAlgoPerf_t,
                          cudnnConvolutionBwdDataAlgo_t>(
            "backward_data", requested, returned, found);
      };
  f.backward_filter_algorithms =
      [](cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
         cudnnConvolutionDescriptor_t, cudnnFilterDescriptor_t, int requested,
         int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* found) {
        return Heuristics<cudnnConvolutionBwdFilterAlgoPerf_t,
                          cudnnConvolutionBwdFilterAlgo_t>(
            "backward_filter", requested, returned, found);
      };
  f.find_forward =
      [](cudnnHandle_t, cudnnTensorDescriptor_t, const void*,
         cudnnFilterDescriptor_t, const void*, cudnnConvolutionDescriptor_t,
         cudnnTensorDescriptor_t, void*, int requested, int* returned,
         cudnnConvolutionFwdAlgoPerf_t* found, void* workspace, size_t size) {
        return Find<cudnnConvolutionFwdAlgo_t>("forward", requested, returned,
                                               found, workspace, size);
      };
  f.find_backward_data =
      [](cudnnHandle_t, cudnnFilterDescriptor_t, const void*,
         cudnnTensorDescriptor_t, const void*, cudnnConvolutionDescriptor_t,
         cudnnTensorDescriptor_t, void*, int requested, int* returned,
         cudnnConvolutionBwdDataAlgoPerf_t* found, void* workspace,
         size_t size) {
        return Find<cudnnConvolutionBwdDataAlgo_t>(
            "backward_data", requested, returned, found, workspace, size);
      };
  f.find_backward_filter =
      [](cudnnHandle_t, cudnnTensorDescriptor_t, const void*,
         cudnnTensorDescriptor_t, const void*, cudnnConvolutionDescriptor_t,
         cudnnFilterDescriptor_t, void*, int requested, int* returned,
         cudnnConvolutionBwdFilterAlgoPerf_t* found, void* workspace,
         size_t size) {
        return Find<cudnnConvolutionBwdFilterAlgo_t>(
            "backward_filter", requested, returned, found, workspace, size);
      };
  f.forward_workspace =
      [](cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
         cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t,
         cudnnConvolutionFwdAlgo_t algorithm,
         size_t* size) { return WorkspaceBytes(algorithm, size); };
  f.backward_data_workspace =
      [](cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t,
         cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t,
         cudnnConvolutionBwdDataAlgo_t algorithm,
         size_t* size) { return WorkspaceBytes(algorithm, size); };
  f.backward_filter_workspace =
      [](cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
         cudnnConvolutionDescriptor_t, cudnnFilterDescriptor_t,
         cudnnConvolutionBwdFilterAlgo_t algorithm,
         size_t* size) { return WorkspaceBytes(algorithm, size); };

  f.forward =
      [](cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t xd,
         const void* x, cudnnFilterDescriptor_t wd, const void* w,
         cudnnConvolutionDescriptor_t cd, cudnnConvolutionFwdAlgo_t algorithm,
         void* workspace, size_t workspace_bytes, const void* beta,
         cudnnTensorDescriptor_t yd, void* y) {
        return Run(handle, Pass::kForward, "forward", As<Tensor4>(xd), x,
                   As<Tensor4>(wd), w, As<Tensor4>(yd), nullptr,
                   As<Convolution>(cd), algorithm, workspace, workspace_bytes,
                   alpha, beta, y);
      };
  f.backward_data = [](cudnnHandle_t handle, const void* alpha,
                       cudnnFilterDescriptor_t wd, const void* w,
                       cudnnTensorDescriptor_t yd, const void* dy,
                       cudnnConvolutionDescriptor_t cd,
                       cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                       size_t workspace_bytes, const void* beta,
                       cudnnTensorDescriptor_t xd, void* dx) {
    return Run(handle, Pass::kData, "backward_data", As<Tensor4>(xd), nullptr,
               As<Tensor4>(wd), w, As<Tensor4>(yd), dy, As<Convolution>(cd),
               algorithm, workspace, workspace_bytes, alpha, beta, dx);
  };
  f.backward_filter =
      [](cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t xd,
         const void* x, cudnnTensorDescriptor_t yd, const void* dy,
         cudnnConvolutionDescriptor_t cd,
         cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
         size_t workspace_bytes, const void* beta, cudnnFilterDescriptor_t wd,
         void* dw) {
        return Run(handle, Pass::kFilter, "backward_filter", As<Tensor4>(xd), x,
                   As<Tensor4>(wd), nullptr, As<Tensor4>(yd), dy,
                   As<Convolution>(cd), algorithm, workspace, workspace_bytes,
                   alpha, beta, dw);
      };
  AddRecurrentFunctions(&f);
  return f;
}

}  // namespace ps
