#include "tensor/cuda/layer_device/cublas_lt_products.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tensor/cuda/libraries/cublas_functions.h"

namespace ps {

class CublasLtHandle {
 public:
  explicit CublasLtHandle(const CublasLtFunctions& cublas_lt)
      : cublas_lt_(cublas_lt) {}
  ~CublasLtHandle() {
    // Nothing useful can be done about an error here.
    if (handle_ != nullptr) cublas_lt_.destroy(handle_);
  }
  CublasLtHandle(const CublasLtHandle&) = delete;
  CublasLtHandle& operator=(const CublasLtHandle&) = delete;

  absl::Status Start() {
    return CublasToStatus(cublas_lt_.create(&handle_), "cublasLtCreate");
  }

  const CublasLtFunctions& functions() const { return cublas_lt_; }
  cublasLtHandle_t get() const { return handle_; }

 private:
  const CublasLtFunctions cublas_lt_;
  cublasLtHandle_t handle_ = nullptr;
};

namespace {

// The width of the fastest kernels' loads, in bytes.
constexpr int64_t kWideAlignment = 16;

cudaDataType TypeOf(Storage storage) {
  return storage == Storage::kBfloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasOperation_t OperationOf(bool transpose) {
  return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

std::string NameOf(const MatrixProduct& p, Epilogue epilogue) {
  return absl::StrCat(
      p.m, " x ", p.k, " by ", p.k, " x ", p.n,
      p.factors == Storage::kBfloat16 ? " in bfloat16" : "",
      epilogue == Epilogue::kAddBias ? " with a bias" : " with sums");
}

// cuBLASLt's matrices are column-major: it sees each of ours as its transpose.
// So it computes c' = b' a', and its A is our b. Its D = c' is [n, m]. A bias
// for each row of D is one for each of our columns (CUBLASLT_EPILOGUE_BIAS).
// The sums over k of its B, one for each column, are the sums of the rows of
// our a (CUBLASLT_EPILOGUE_BGRADB).
class CublasLtProduct final : public FusedProduct {
 public:
  CublasLtProduct(LayerDevice* device, std::shared_ptr<CublasLtHandle> handle,
                  const CublasLtOptions& options, const MatrixProduct& product,
                  Epilogue epilogue)
      : device_(device),
        handle_(std::move(handle)),
        options_(options),
        p_(product),
        epilogue_(epilogue) {}

  ~CublasLtProduct() override {
    // Nothing useful can be done about errors here.
    if (product_ != nullptr) cublas_lt().destroy_product(product_);
    for (const cublasLtMatrixLayout_t layout : {a_, b_, c_}) {
      if (layout != nullptr) cublas_lt().destroy_layout(layout);
    }
  }

  // Returns whether there is an algorithm.
  absl::StatusOr<bool> Plan() {
    PS_RETURN_IF_ERROR(Describe());
    PS_ASSIGN_OR_RETURN(wide_, Choose({kWideAlignment, kWideAlignment}));
    PS_ASSIGN_OR_RETURN(
        narrow_, Choose({StorageBytes(p_.factors), StorageBytes(p_.result)}));
    bool is_there = false;
    for (const std::optional<Algorithm>& algorithm : {wide_, narrow_}) {
      if (!algorithm.has_value()) continue;
      is_there = true;
      PS_RETURN_IF_ERROR(device_->ReserveScratch(
          static_cast<int64_t>(algorithm->workspace_bytes)));
    }
    return is_there;
  }

  // Whether operands at any address are supported.
  bool takes_all() const { return narrow_.has_value(); }

  bool Takes(const FusedOperands& operands) const override {
    return AlgorithmFor(operands).has_value();
  }

  absl::Status Multiply(const FusedOperands& operands) override {
    const std::optional<Algorithm>& algorithm = AlgorithmFor(operands);
    if (!algorithm.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the product of ", NameOf(p_, epilogue_),
                       ": an operand is not aligned to ", kWideAlignment,
                       " bytes, as cuBLASLt needs them here"));
    }
    PS_RETURN_IF_ERROR(device_->MakeCurrent());
    return Run(*algorithm, operands, device_->scratch());
  }

 private:
  struct Algorithm {
    cublasLtMatmulAlgo_t algorithm = {};
    size_t workspace_bytes = 0;
  };

  absl::Status Run(const Algorithm& algorithm, const FusedOperands& operands,
                   void* workspace) {
    PS_RETURN_IF_ERROR(
        Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, VectorOf(operands)));
    constexpr float kOne = 1, kZero = 0;
    return CublasToStatus(
        cublas_lt().matmul(handle_->get(), product_, &kOne, operands.b, a_,
                           operands.a, b_, &kZero, operands.c, c_, operands.c,
                           c_, &algorithm.algorithm, workspace,
                           algorithm.workspace_bytes, options_.stream),
        absl::StrCat("cublasLtMatmul of ", NameOf(p_, epilogue_)));
  }

  const CublasLtFunctions& cublas_lt() const { return handle_->functions(); }

  const void* VectorOf(const FusedOperands& operands) const {
    return epilogue_ == Epilogue::kAddBias ? operands.bias : operands.sums;
  }

  const std::optional<Algorithm>& AlgorithmFor(
      const FusedOperands& operands) const {
    if (!wide_.has_value()) return narrow_;
    const void* const all[] = {operands.a, operands.b, operands.c,
                               VectorOf(operands)};
    return std::all_of(
               std::begin(all), std::end(all),
               [](const void* data) {
                 return reinterpret_cast<uintptr_t>(data) % kWideAlignment == 0;
               })
               ? wide_
               : narrow_;
  }

  template <typename Value>
  absl::Status Set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    return CublasToStatus(
        cublas_lt().set_product(product_, attribute, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
  }

  absl::Status Describe() {
    const cublasComputeType_t compute =
        options_.allow_tf32 && p_.factors == Storage::kFloat
            ? CUBLAS_COMPUTE_32F_FAST_TF32
            : CUBLAS_COMPUTE_32F;
    PS_RETURN_IF_ERROR(CublasToStatus(
        cublas_lt().create_product(&product_, compute, CUDA_R_32F),
        "cublasLtMatmulDescCreate"));
    PS_RETURN_IF_ERROR(
        Set(CUBLASLT_MATMUL_DESC_TRANSA, OperationOf(p_.transpose_b)));
    PS_RETURN_IF_ERROR(
        Set(CUBLASLT_MATMUL_DESC_TRANSB, OperationOf(p_.transpose_a)));
    PS_RETURN_IF_ERROR(
        Set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_ == Epilogue::kAddBias
                                               ? CUBLASLT_EPILOGUE_BIAS
                                               : CUBLASLT_EPILOGUE_BGRADB));
    // The same type as the result's: no other is supported with these factors
    // ("cuBLAS library", cublasLtMatmul, the table of data types).
    PS_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
                           static_cast<int32_t>(TypeOf(p_.result))));
    PS_RETURN_IF_ERROR(NewLayout(p_.factors, p_.transpose_b ? p_.k : p_.n,
                                 p_.transpose_b ? p_.n : p_.k, p_.b_row(),
                                 &a_));
    PS_RETURN_IF_ERROR(NewLayout(p_.factors, p_.transpose_a ? p_.m : p_.k,
                                 p_.transpose_a ? p_.k : p_.m, p_.a_row(),
                                 &b_));
    return NewLayout(p_.result, p_.n, p_.m, p_.c_row(), &c_);
  }

  // Describes a column-major matrix.
  absl::Status NewLayout(Storage storage, int64_t rows, int64_t columns,
                         int64_t stride, cublasLtMatrixLayout_t* layout) const {
    return CublasToStatus(
        cublas_lt().create_layout(layout, TypeOf(storage),
                                  static_cast<uint64_t>(rows),
                                  static_cast<uint64_t>(columns), stride),
        "cublasLtMatrixLayoutCreate");
  }

  // Addresses that are multiples of these numbers of bytes.
  struct Alignment {
    int64_t factors;
    int64_t result;  // Also of the bias or the sums.
  };

  // The fastest algorithm where bits may vary. Otherwise the first: which one
  // is the fastest on a busy device depends on its load, and so would the bits.
  // None if there is no algorithm.
  absl::StatusOr<std::optional<Algorithm>> Choose(const Alignment& alignment) {
    PS_ASSIGN_OR_RETURN(const std::vector<Algorithm> algorithms,
                        Suitable(alignment));
    if (algorithms.empty()) return std::nullopt;
    if (options_.deterministic || options_.trials == nullptr) {
      return algorithms.front();
    }
    TrialArrays arrays;
    const std::string work = absl::StrCat(
        "the product of ", NameOf(p_, epilogue_),
        p_.result == Storage::kBfloat16 ? " to bfloat16" : " to floats",
        ", transposed ", p_.transpose_a ? "T" : "N", p_.transpose_b ? "T" : "N",
        ", rows of ", p_.a_row(), ", ", p_.b_row(), " and ", p_.c_row(),
        ", aligned to ", alignment.factors, " and ", alignment.result,
        " bytes");
    return algorithms[options_.trials->Fastest(
        work, static_cast<int>(algorithms.size()),
        [&](int number) -> absl::Status {
          if (arrays.workspace == nullptr) {
            PS_ASSIGN_OR_RETURN(arrays, Allocate(algorithms));
          }
          return Run(algorithms[number], OperandsOf(arrays, alignment),
                     arrays.workspace.get());
        })];
  }

  // What algorithms are tried on, zeroed.
  struct TrialArrays {
    std::shared_ptr<void> a, b, c, vector, workspace;
  };

  absl::StatusOr<TrialArrays> Allocate(
      const std::vector<Algorithm>& algorithms) const {
    // With space for operands that are not aligned.
    const auto allocate = [this](int64_t elements, Storage storage) {
      return device_->Allocate(elements * StorageBytes(storage) +
                               kWideAlignment);
    };
    TrialArrays arrays;
    PS_ASSIGN_OR_RETURN(
        arrays.a,
        allocate((p_.transpose_a ? p_.k : p_.m) * p_.a_row(), p_.factors));
    PS_ASSIGN_OR_RETURN(
        arrays.b,
        allocate((p_.transpose_b ? p_.n : p_.k) * p_.b_row(), p_.factors));
    PS_ASSIGN_OR_RETURN(arrays.c, allocate(p_.m * p_.c_row(), p_.result));
    PS_ASSIGN_OR_RETURN(arrays.vector,
                        allocate(std::max(p_.m, p_.n), p_.result));
    size_t workspace_bytes = 0;
    for (const Algorithm& algorithm : algorithms) {
      workspace_bytes = std::max(workspace_bytes, algorithm.workspace_bytes);
    }
    PS_ASSIGN_OR_RETURN(
        arrays.workspace,
        device_->Allocate(static_cast<int64_t>(workspace_bytes)));
    return arrays;
  }

  // At addresses that are aligned as said, and no better unless they must.
  static FusedOperands OperandsOf(const TrialArrays& arrays,
                                  const Alignment& alignment) {
    const auto at = [](const std::shared_ptr<void>& array, int64_t offset) {
      return static_cast<void*>(static_cast<char*>(array.get()) + offset);
    };
    FusedOperands operands;
    operands.a = at(arrays.a, alignment.factors);
    operands.b = at(arrays.b, alignment.factors);
    operands.c = at(arrays.c, alignment.result);
    operands.bias = at(arrays.vector, alignment.result);
    operands.sums = at(arrays.vector, alignment.result);
    return operands;
  }

  // The heuristics' algorithms that meet the options, the best first.
  absl::StatusOr<std::vector<Algorithm>> Suitable(const Alignment& alignment) {
    cublasLtMatmulPreference_t preference = nullptr;
    PS_RETURN_IF_ERROR(
        CublasToStatus(cublas_lt().create_preference(&preference),
                       "cublasLtMatmulPreferenceCreate"));
    const auto destroy = [this](cublasLtMatmulPreference_t unused) {
      cublas_lt().destroy_preference(unused);
    };
    const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(destroy)>
        owner(preference, destroy);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                         auto value) {
      return CublasToStatus(cublas_lt().set_preference(preference, attribute,
                                                       &value, sizeof(value)),
                            "cublasLtMatmulPreferenceSetAttribute");
    };
    PS_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            static_cast<uint64_t>(options_.max_workspace_bytes)));
    // Adding parts in the output's type would round parts of a bfloat16 sum.
    // Adding them in place would do so too, and in the order in which they
    // finish.
    uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (!options_.deterministic && p_.result == Storage::kFloat) {
      schemes |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
    }
    PS_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes));
    const std::pair<cublasLtMatmulPreferenceAttributes_t, int64_t>
        alignments[] = {
            {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment.factors},
            {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment.factors},
            {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment.result},
            {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment.result}};
    for (const auto& [attribute, bytes] : alignments) {
      PS_RETURN_IF_ERROR(set(attribute, static_cast<uint32_t>(bytes)));
    }
    // The heuristics read only the alignment of this address. The bias and the
    // sums are aligned as the result is.
    PS_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                           reinterpret_cast<const void*>(alignment.result)));

    constexpr int kMaxAlgorithms = 8;
    cublasLtMatmulHeuristicResult_t found[kMaxAlgorithms];
    int num_found = 0;
    const cublasStatus_t status =
        cublas_lt().heuristics(handle_->get(), product_, a_, b_, c_, c_,
                               preference, kMaxAlgorithms, found, &num_found);
    // The codes if nothing fits: the first for a product that is not supported,
    // the second for types and epilogues that cannot be combined.
    if (status == CUBLAS_STATUS_NOT_SUPPORTED ||
        status == CUBLAS_STATUS_INVALID_VALUE) {
      return std::vector<Algorithm>();
    }
    PS_RETURN_IF_ERROR(
        CublasToStatus(status, "cublasLtMatmulAlgoGetHeuristic"));
    std::vector<Algorithm> suitable;
    for (int i = 0; i < num_found; ++i) {
      if (found[i].state != CUBLAS_STATUS_SUCCESS) continue;
      if (static_cast<int64_t>(found[i].workspaceSize) >
          options_.max_workspace_bytes) {
        continue;
      }
      suitable.push_back({found[i].algo, found[i].workspaceSize});
    }
    return suitable;
  }

  LayerDevice* const device_;  // Not owned.
  const std::shared_ptr<CublasLtHandle> handle_;
  const CublasLtOptions options_;
  const MatrixProduct p_;
  const Epilogue epilogue_;
  cublasLtMatmulDesc_t product_ = nullptr;
  // Layouts of cuBLASLt's A and B, and of its C and D.
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t c_ = nullptr;
  std::optional<Algorithm> wide_;    // For operands aligned to kWideAlignment.
  std::optional<Algorithm> narrow_;  // For all others.
};

}  // namespace

absl::StatusOr<std::unique_ptr<CublasLtProducts>> CublasLtProducts::Create(
    const CublasLtFunctions& cublas_lt, const CublasLtOptions& options) {
  auto handle = std::make_shared<CublasLtHandle>(cublas_lt);
  PS_RETURN_IF_ERROR(handle->Start());
  return absl::WrapUnique(new CublasLtProducts(std::move(handle), options));
}

absl::StatusOr<std::unique_ptr<FusedProduct>> CublasLtProducts::Plan(
    LayerDevice* device, const MatrixProduct& product, Epilogue epilogue) {
  if (product.m < 1 || product.n < 1 || product.k < 1 || product.accumulate) {
    return absl::InvalidArgumentError(
        absl::StrCat("the product of ", NameOf(product, epilogue),
                     product.accumulate ? ": must not accumulate"
                                        : ": extents must be at least 1"));
  }
  auto planned = std::make_unique<CublasLtProduct>(device, handle_, options_,
                                                   product, epilogue);
  PS_ASSIGN_OR_RETURN(const bool is_there, planned->Plan());
  if (!planned->takes_all()) {
    LOG_IF(INFO, !has_said_)
        << "cuBLASLt has no algorithm for the product of "
        << NameOf(product, epilogue)
        << (is_there ? " at addresses that are not multiples of 16" : "")
        << ": cuBLAS computes this product, and kernels compute the bias or "
           "its gradient. Later products without an algorithm are not logged";
    has_said_ = true;
  }
  if (!is_there) return std::unique_ptr<FusedProduct>();
  return planned;
}

}  // namespace ps
