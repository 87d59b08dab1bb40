#include "tests/tensor/cuda/layers/fake_cublas_lt.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "glog/logging.h"
#include "tensor/cuda/layer_device/bfloat16.h"

namespace ps {
namespace {

constexpr size_t kWorkspaceBytes = 1000;

FakeCublasLt* fake = nullptr;

// Initialised to the library's defaults.
struct Product {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cublasOperation_t operation_a = CUBLAS_OP_N;
  cublasOperation_t operation_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* vector = nullptr;
  int32_t vector_type = -1;
};

struct Layout {
  cudaDataType type;
  uint64_t rows;
  uint64_t columns;
  int64_t stride;  // Between columns.
};

struct Preference {
  uint64_t workspace_bytes = 0;
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignment_a = 256;
  uint32_t alignment_b = 256;
  uint32_t alignment_c = 256;
  uint32_t alignment_d = 256;
};

template <typename Struct, typename Descriptor>
Struct& As(Descriptor descriptor) {
  return *reinterpret_cast<Struct*>(descriptor);
}

cublasStatus_t Call(const char* name) {
  return fake->failing == name ? fake->failure : CUBLAS_STATUS_SUCCESS;
}

template <typename Struct, typename Descriptor>
cublasStatus_t Create(Descriptor* descriptor, Struct value, const char* name) {
  const cublasStatus_t status = Call(name);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  *descriptor = reinterpret_cast<Descriptor>(new Struct(value));
  ++fake->num_descriptors;
  return status;
}
template <typename Struct, typename Descriptor>
cublasStatus_t Destroy(Descriptor descriptor) {
  delete &As<Struct>(descriptor);
  --fake->num_descriptors;
  return CUBLAS_STATUS_SUCCESS;
}

// Each attribute has a fixed size.
template <typename Value>
cublasStatus_t Set(const void* from, size_t size, Value* to) {
  if (size != sizeof(Value)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, from, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t SetProduct(Product* p, cublasLtMatmulDescAttributes_t attribute,
                          const void* value, size_t size) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return Set(value, size, &p->operation_a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return Set(value, size, &p->operation_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return Set(value, size, &p->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return Set(value, size, &p->vector);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return Set(value, size, &p->vector_type);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t SetPreference(Preference* p,
                             cublasLtMatmulPreferenceAttributes_t attribute,
                             const void* value, size_t size) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return Set(value, size, &p->workspace_bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return Set(value, size, &p->schemes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return Set(value, size, &p->alignment_a);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return Set(value, size, &p->alignment_b);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return Set(value, size, &p->alignment_c);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return Set(value, size, &p->alignment_d);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

uint32_t SizeOf(const Layout& layout) {
  return layout.type == CUDA_R_16BF ? 2 : 4;
}

bool IsAligned(const void* data, uint32_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

// Whether these can be combined: the shapes, and the types in the
// documentation's table for the compute type.
bool Fits(const Product& p, const Layout& a, const Layout& b, const Layout& c,
          const Layout& d) {
  const bool ta = p.operation_a == CUBLAS_OP_T;
  const bool tb = p.operation_b == CUBLAS_OP_T;
  if ((ta ? a.columns : a.rows) != d.rows) return false;
  if ((tb ? b.rows : b.columns) != d.columns) return false;
  if ((ta ? a.rows : a.columns) != (tb ? b.columns : b.rows)) return false;
  for (const Layout& layout : {a, b, c, d}) {
    if (layout.stride < static_cast<int64_t>(layout.rows)) return false;
  }
  if (c.rows != d.rows || c.columns != d.columns || c.type != d.type) {
    return false;
  }
  if (a.type != b.type) return false;
  if (a.type == CUDA_R_32F && d.type != CUDA_R_32F) return false;
  if (p.compute != CUBLAS_COMPUTE_32F &&
      (p.compute != CUBLAS_COMPUTE_32F_FAST_TF32 || a.type != CUDA_R_32F)) {
    return false;
  }
  // The default is the type of D.
  return p.vector_type == -1 || p.vector_type == int32_t{d.type};
}

cublasStatus_t Heuristics(const Product& p, const Layout& a, const Layout& b,
                          const Layout& c, const Layout& d,
                          const Preference& preference, int requested,
                          cublasLtMatmulHeuristicResult_t* found,
                          int* num_found) {
  ++fake->num_heuristics;
  *num_found = 0;
  const cublasStatus_t status = Call("heuristics");
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (!Fits(p, a, b, c, d)) return CUBLAS_STATUS_INVALID_VALUE;
  const auto add = [&](FakeCublasLt::Algorithm algorithm, size_t workspace,
                       cublasStatus_t state) {
    if (*num_found == requested) return;
    cublasLtMatmulHeuristicResult_t& one = found[(*num_found)++];
    one = {};
    one.algo.data[0] = algorithm;
    one.workspaceSize = workspace;
    one.state = state;
  };
  add(FakeCublasLt::kBroken, 0, CUBLAS_STATUS_NOT_SUPPORTED);
  add(FakeCublasLt::kHuge, size_t{1} << 40, CUBLAS_STATUS_SUCCESS);
  if (preference.workspace_bytes < kWorkspaceBytes) return status;
  if (preference.schemes & CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE) {
    add(FakeCublasLt::kOutputType, kWorkspaceBytes, CUBLAS_STATUS_SUCCESS);
  }
  if (preference.schemes & CUBLASLT_REDUCTION_SCHEME_INPLACE) {
    add(FakeCublasLt::kInPlace, kWorkspaceBytes, CUBLAS_STATUS_SUCCESS);
  }
  const bool aligned = preference.alignment_a >= 16 &&
                       preference.alignment_b >= 16 &&
                       preference.alignment_c >= 16 &&
                       preference.alignment_d >= 16 && IsAligned(p.vector, 16);
  if (aligned && fake->has_aligned) {
    add(FakeCublasLt::kAligned, kWorkspaceBytes, CUBLAS_STATUS_SUCCESS);
  }
  if (fake->has_any) {
    add(FakeCublasLt::kAny, kWorkspaceBytes, CUBLAS_STATUS_SUCCESS);
  }
  return status;
}

// Element `i` of an array of this type.
float Load(int32_t type, const void* data, int64_t i) {
  if (type == CUDA_R_16BF) return static_cast<const Bfloat16*>(data)[i];
  return static_cast<const float*>(data)[i];
}
void Store(int32_t type, float value, int64_t i, void* data) {
  if (type == CUDA_R_16BF) {
    static_cast<Bfloat16*>(data)[i] = value;
  } else {
    static_cast<float*>(data)[i] = value;
  }
}

// Element (row, column) of op(matrix).
float Element(const Layout& layout, cublasOperation_t operation,
              const void* data, uint64_t row, uint64_t column) {
  if (operation == CUBLAS_OP_T) std::swap(row, column);
  return Load(
      layout.type, data,
      static_cast<int64_t>(column) * layout.stride + static_cast<int64_t>(row));
}

void Compute(const Product& p, const void* a, const Layout& la, const void* b,
             const Layout& lb, void* d, const Layout& ld) {
  const uint64_t num_products =
      p.operation_a == CUBLAS_OP_T ? la.rows : la.columns;
  const int32_t vector_type = p.vector_type == -1 ? ld.type : p.vector_type;
  for (uint64_t column = 0; column < ld.columns; ++column) {
    for (uint64_t row = 0; row < ld.rows; ++row) {
      float sum = 0;
      for (uint64_t k = 0; k < num_products; ++k) {
        sum += Element(la, p.operation_a, a, row, k) *
               Element(lb, p.operation_b, b, k, column);
      }
      // One element for each row of D, before D is stored.
      if (p.epilogue == CUBLASLT_EPILOGUE_BIAS) {
        sum += Load(vector_type, p.vector, static_cast<int64_t>(row));
      }
      Store(
          ld.type, sum,
          static_cast<int64_t>(column) * ld.stride + static_cast<int64_t>(row),
          d);
    }
  }
  if (p.epilogue == CUBLASLT_EPILOGUE_BGRADA) {
    for (uint64_t row = 0; row < ld.rows; ++row) {
      float sum = 0;
      for (uint64_t k = 0; k < num_products; ++k) {
        sum += Element(la, p.operation_a, a, row, k);
      }
      Store(vector_type, sum, static_cast<int64_t>(row), p.vector);
    }
  }
  if (p.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
    for (uint64_t column = 0; column < ld.columns; ++column) {
      float sum = 0;
      for (uint64_t k = 0; k < num_products; ++k) {
        sum += Element(lb, p.operation_b, b, k, column);
      }
      Store(vector_type, sum, static_cast<int64_t>(column), p.vector);
    }
  }
}

}  // namespace

FakeCublasLt::FakeCublasLt() : before_(fake) { fake = this; }

FakeCublasLt::~FakeCublasLt() { fake = before_; }

CublasLtFunctions FakeCublasLt::Functions() {
  CublasLtFunctions f;
  f.create = [](cublasLtHandle_t* handle) {
    const cublasStatus_t status = Call("create");
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    *handle = reinterpret_cast<cublasLtHandle_t>(fake);
    ++fake->num_descriptors;
    return status;
  };
  f.destroy = [](cublasLtHandle_t handle) {
    CHECK(handle == reinterpret_cast<cublasLtHandle_t>(fake));
    --fake->num_descriptors;
    return CUBLAS_STATUS_SUCCESS;
  };

  f.create_product = [](cublasLtMatmulDesc_t* d, cublasComputeType_t compute,
                        cudaDataType scale) {
    CHECK_EQ(scale, CUDA_R_32F);
    Product product;
    product.compute = compute;
    return Create(d, product, "create_product");
  };
  f.destroy_product = [](cublasLtMatmulDesc_t d) {
    return Destroy<Product>(d);
  };
  f.set_product = [](cublasLtMatmulDesc_t d,
                     cublasLtMatmulDescAttributes_t attribute,
                     const void* value, size_t size) {
    const cublasStatus_t status = Call("set_product");
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return SetProduct(&As<Product>(d), attribute, value, size);
  };
  f.create_layout = [](cublasLtMatrixLayout_t* d, cudaDataType type,
                       uint64_t rows, uint64_t columns, int64_t stride) {
    return Create(d, Layout{type, rows, columns, stride}, "create_layout");
  };
  f.destroy_layout = [](cublasLtMatrixLayout_t d) {
    return Destroy<Layout>(d);
  };
  f.create_preference = [](cublasLtMatmulPreference_t* d) {
    return Create(d, Preference(), "create_preference");
  };
  f.destroy_preference = [](cublasLtMatmulPreference_t d) {
    return Destroy<Preference>(d);
  };
  f.set_preference = [](cublasLtMatmulPreference_t d,
                        cublasLtMatmulPreferenceAttributes_t attribute,
                        const void* value, size_t size) {
    const cublasStatus_t status = Call("set_preference");
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return SetPreference(&As<Preference>(d), attribute, value, size);
  };

  f.heuristics = [](cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                    cublasLtMatmulPreference_t preference, int requested,
                    cublasLtMatmulHeuristicResult_t* found, int* num_found) {
    CHECK(handle == reinterpret_cast<cublasLtHandle_t>(fake));
    return Heuristics(As<Product>(product), As<Layout>(a), As<Layout>(b),
                      As<Layout>(c), As<Layout>(d), As<Preference>(preference),
                      requested, found, num_found);
  };
  f.matmul = [](cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                const void* alpha, const void* a, cublasLtMatrixLayout_t la,
                const void* b, cublasLtMatrixLayout_t lb, const void* beta,
                const void* c, cublasLtMatrixLayout_t lc, void* d,
                cublasLtMatrixLayout_t ld,
                const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                size_t workspace_bytes, cudaStream_t stream) {
    CHECK(handle == reinterpret_cast<cublasLtHandle_t>(fake));
    CHECK_EQ(*static_cast<const float*>(alpha), 1);
    CHECK_EQ(*static_cast<const float*>(beta), 0);
    CHECK(c == d);
    CHECK(Fits(As<Product>(product), As<Layout>(la), As<Layout>(lb),
               As<Layout>(lc), As<Layout>(ld)));
    const Product p = As<Product>(product);
    const int chosen = static_cast<int>(algorithm->data[0]);
    ++fake->num_products;
    fake->algorithm = chosen;
    if (const auto time = fake->milliseconds.find(chosen);
        time != fake->milliseconds.end()) {
      fake->elapsed_milliseconds += time->second;
    }
    fake->compute = p.compute;
    fake->stream = stream;
    if (workspace_bytes < kWorkspaceBytes || !IsAligned(workspace, 256)) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    const uint32_t alignment = chosen == FakeCublasLt::kAligned ? 16 : 2;
    for (const void* const data : {a, b, const_cast<const void*>(d),
                                   const_cast<const void*>(p.vector)}) {
      if (!IsAligned(data, alignment)) return CUBLAS_STATUS_INVALID_VALUE;
    }
    // Descriptors may be changed or destroyed before the work runs.
    const auto work = [p, a, la = As<Layout>(la), b, lb = As<Layout>(lb), d,
                       ld = As<Layout>(ld), workspace, workspace_bytes] {
      std::memset(workspace, 0xff, workspace_bytes);
      Compute(p, a, la, b, lb, d, ld);
    };
    if (fake->queue == nullptr) {
      work();
      return Call("matmul");
    }
    const cublasStatus_t queued = fake->queue(stream, work);
    return queued == CUBLAS_STATUS_SUCCESS ? Call("matmul") : queued;
  };
  return f;
}

}  // namespace ps
