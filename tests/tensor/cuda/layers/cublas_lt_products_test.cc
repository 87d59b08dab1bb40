// How products with an epilogue are passed to cuBLASLt, using a fake one.

#include "tensor/cuda/layer_device/cublas_lt_products.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/libraries/cublas_functions.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tests/common/log_messages.h"
#include "tests/ptx/device.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/cuda/emulated_libraries.h"
#include "tests/tensor/cuda/layers/fake_cublas_lt.h"
#include "tests/tensor/cuda/layers/layer_device_for_test.h"

namespace ps {
namespace {

using Array = DeviceValues;

// A device, and cuBLASLt with these options on its stream.
class LtDevice {
 public:
  explicit LtDevice(
      CublasLtOptions options = CublasLtOptions(),
      const CublasLtFunctions& functions = FakeCublasLt::Functions())
      : device_(NewLayerDeviceForTest()) {
    options.stream = device_->stream();
    products_ = CublasLtProducts::Create(functions, options).value();
  }

  LayerDevice* get() const { return device_.get(); }
  absl::StatusOr<std::unique_ptr<FusedProduct>> PlanFusedProduct(
      const MatrixProduct& product, Epilogue epilogue) const {
    return products_->Plan(device_.get(), product, epilogue);
  }

 private:
  const std::shared_ptr<LayerDevice> device_;
  std::unique_ptr<CublasLtProducts> products_;
};

// Equal up to the rounding of a float, or a bfloat16.
void ExpectRounded(const std::vector<float>& actual,
                   const std::vector<double>& expected, Storage storage) {
  ASSERT_EQ(actual.size(), expected.size());
  const double relative = storage == Storage::kBfloat16 ? 1.0 / 256 : 1e-6;
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], relative * std::abs(expected[i]) + 1e-5)
        << i;
  }
}

// Operands are parts of larger matrices, whose other elements must not change.
void ExpectRight(const LtDevice& lt, MatrixProduct p, Epilogue epilogue,
                 int64_t offset) {
  LayerDevice* const device = lt.get();
  p.a_stride = 11, p.b_stride = 12, p.c_stride = 13;
  const bool adds = epilogue == Epilogue::kAddBias;
  const Array a(device, p.factors, RandomValues(7 * 11, 1), offset);
  const Array b(device, p.factors, RandomValues(7 * 12, 2), offset);
  const Array c(device, p.result, RandomValues(3 * 13, 3), offset);
  const Array vector(device, p.result, RandomValues(adds ? p.n : p.m, 4),
                     offset);
  const std::vector<float> x = a.Values(), y = b.Values(),
                           bias = vector.Values();
  const std::vector<float> before = c.Values();
  std::vector<double> product(before.begin(), before.end());
  std::vector<double> expected(bias.begin(), bias.end());
  for (int64_t i = 0; i < p.m; ++i) {
    double sum_a = 0;
    for (int64_t k = 0; k < p.k; ++k) {
      sum_a += p.transpose_a ? x[k * 11 + i] : x[i * 11 + k];
    }
    if (!adds) expected[i] = sum_a;
    for (int64_t j = 0; j < p.n; ++j) {
      double& sum = product[i * 13 + j];
      sum = adds ? bias[j] : 0;
      for (int64_t k = 0; k < p.k; ++k) {
        sum += double{p.transpose_a ? x[k * 11 + i] : x[i * 11 + k]} *
               double{p.transpose_b ? y[j * 12 + k] : y[k * 12 + j]};
      }
    }
  }
  const auto planned = lt.PlanFusedProduct(p, epilogue);
  ASSERT_TRUE(planned.ok()) << planned.status();
  ASSERT_NE(*planned, nullptr);
  FusedOperands operands;
  operands.a = a.data(), operands.b = b.data(), operands.c = c.data();
  if (adds) {
    operands.bias = vector.data();
  } else {
    operands.sums = vector.data();
  }
  ASSERT_TRUE((*planned)->Takes(operands));
  const absl::Status status = (*planned)->Multiply(operands);
  ASSERT_TRUE(status.ok()) << status;
  ExpectRounded(c.Values(), product, p.result);
  ExpectRounded(vector.Values(), expected, p.result);
}

TEST(EmulatedCublasLtProducts, MultipliesRowsOfAnyStrideInEveryCombination) {
  FakeCublasLt cublas_lt;
  LtDevice device;
  for (const Epilogue epilogue : {Epilogue::kAddBias, Epilogue::kSumA}) {
    for (int variant = 0; variant < 24; ++variant) {
      SCOPED_TRACE(variant);
      MatrixProduct p;
      p.m = 3, p.n = 5, p.k = 7;
      p.transpose_a = variant % 2 == 1;
      p.transpose_b = variant / 2 % 2 == 1;
      const int64_t offset = variant / 4 % 2;
      p.factors = variant / 8 == 0 ? Storage::kFloat : Storage::kBfloat16;
      p.result = variant / 8 == 2 ? Storage::kBfloat16 : Storage::kFloat;
      ExpectRight(device, p, epilogue, offset);
      EXPECT_EQ(cublas_lt.algorithm,
                offset == 0 ? FakeCublasLt::kAligned : FakeCublasLt::kAny);
    }
  }
  EXPECT_EQ(cublas_lt.num_products, 48);
}

// 256 + 1 is not a bfloat16: if it is rounded before the bias is added, nothing
// is left.
TEST(EmulatedCublasLtProducts, OfBfloat16AreRoundedAfterTheBiasIsAdded) {
  FakeCublasLt cublas_lt;
  LtDevice device;
  MatrixProduct p;
  p.m = p.n = 1, p.k = 2;
  p.factors = p.result = Storage::kBfloat16;
  const Array a(device.get(), Storage::kBfloat16, {256, 1});
  const Array b(device.get(), Storage::kBfloat16, {1, 1});
  const Array c(device.get(), Storage::kBfloat16, {0});
  const Array bias(device.get(), Storage::kBfloat16, {-256});
  const auto planned = device.PlanFusedProduct(p, Epilogue::kAddBias).value();
  ASSERT_TRUE(
      planned->Multiply({a.data(), b.data(), c.data(), bias.data(), nullptr})
          .ok());
  EXPECT_EQ(c.Values()[0], 1);
}

// Weights and biases may be at other addresses from call to call. The address
// of a bias alone matters too.
TEST(EmulatedCublasLtProducts, EachCallHasOperandsOfItsOwn) {
  FakeCublasLt cublas_lt;
  LtDevice device;
  MatrixProduct p;
  p.m = p.n = p.k = 1;
  const Array a(device.get(), Storage::kFloat, {2});
  const Array b(device.get(), Storage::kFloat, {3});
  const Array c(device.get(), Storage::kFloat, {0});
  for (const Epilogue epilogue : {Epilogue::kAddBias, Epilogue::kSumA}) {
    const auto planned = device.PlanFusedProduct(p, epilogue).value();
    for (const int64_t offset : {0, 1, 4}) {
      const float bias = static_cast<float>(offset + 1);
      const Array vector(device.get(), Storage::kFloat, {bias}, offset);
      const bool adds = epilogue == Epilogue::kAddBias;
      FusedOperands operands = {a.data(), b.data(), c.data(), nullptr, nullptr};
      if (adds) {
        operands.bias = vector.data();
      } else {
        operands.sums = vector.data();
      }
      const absl::Status status = planned->Multiply(operands);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(c.Values()[0], adds ? 6 + bias : 6);
      EXPECT_EQ(vector.Values()[0], adds ? bias : 2);
      EXPECT_EQ(cublas_lt.algorithm,
                offset == 1 ? FakeCublasLt::kAny : FakeCublasLt::kAligned);
    }
  }
}

struct Linear {
  std::vector<float> y, dx, dweight, dbias;
};

// One iteration. Weights, and all their gradients, begin `offset` floats after
// an aligned address, like parameters in one vector.
Linear RunLinear(const std::shared_ptr<LayerDevice>& shared, int64_t offset) {
  LayerDevice* const device = shared.get();
  constexpr int64_t kRows = 9, kIn = 7, kOut = 5;
  const Storage storage = device->storage();
  const auto op = CudaNnKernels(shared)
                      .PlanLinear(kOut, ActivationDesc::Plain({kRows, kIn}))
                      .value();
  const Array x(device, Storage::kFloat, RandomValues(kRows * kIn, 1));
  const Array weight(device, Storage::kFloat, RandomValues(kOut * kIn, 2),
                     offset);
  const Array bias(device, Storage::kFloat, RandomValues(kOut, 3), offset);
  const Array dy(device, storage, RandomValues(kRows * kOut, 4));
  const Array y(device, storage, RandomValues(kRows * kOut, 5));
  const Array dx(device, Storage::kFloat, RandomValues(kRows * kIn, 6));
  const Array dweight(device, Storage::kFloat, RandomValues(kOut * kIn, 7),
                      offset);
  const Array dbias(device, Storage::kFloat, RandomValues(kOut, 8), offset);
  for (int i = 0; i < 2; ++i) {
    absl::Status status =
        op->Forward(x.floats(), weight.floats(), bias.floats(), y.floats());
    EXPECT_TRUE(status.ok()) << status;
    status = op->Backward(x.floats(), weight.floats(), dy.floats(), dx.floats(),
                          dweight.floats(), dbias.floats());
    EXPECT_TRUE(status.ok()) << status;
  }
  return {y.Values(), dx.Values(), dweight.Values(), dbias.Values()};
}

void ExpectSame(const Linear& actual, const Linear& expected, Storage storage) {
  const auto wide = [](const std::vector<float>& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  // A bias is rounded like the weights.
  const double tolerance = storage == Storage::kBfloat16 ? 1.0 / 64 : 1e-5;
  ExpectClose(actual.y, wide(expected.y), tolerance);
  // Gradients of parameters are always floats.
  ExpectClose(actual.dweight, wide(expected.dweight), 1e-5);
  ExpectClose(actual.dbias, wide(expected.dbias), 1e-5);
  EXPECT_EQ(actual.dx, expected.dx);
}

std::shared_ptr<LayerDevice> NewDevice(Precision precision, bool fuses) {
  CudaNnOptions options;
  options.precision = precision;
  options.use_cublas_lt = fuses;
  return NewLayerDeviceForTest(options);
}

// Number of launches of the kernels of a bias since the last call; the sum over
// channels takes two.
int64_t NumBiasKernels() {
  int64_t n = 0;
  for (const std::string& name : ptx::TakeLaunches()) {
    n += absl::StrContains(name, "AddBiasTo") ||
         absl::StrContains(name, "SumBiasOf");
  }
  return n;
}

TEST(EmulatedCublasLtProducts, ALinearLayerIsTwoCallsWithoutKernelsForItsBias) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    NumBiasKernels();
    const Linear expected = RunLinear(NewDevice(precision, false), 0);
    EXPECT_EQ(NumBiasKernels(), 2 + 2 * 2);
    for (const int64_t offset : {0, 1}) {
      FakeCublasLt cublas_lt;
      {
        const auto device = NewDevice(precision, true);
        ExpectSame(RunLinear(device, offset), expected, device->storage());
        EXPECT_EQ(NumBiasKernels(), 0);
      }
      EXPECT_EQ(cublas_lt.num_products, 4);
      // Two products with two alignments each; running adds none.
      EXPECT_EQ(cublas_lt.num_heuristics, 4);
      EXPECT_EQ(cublas_lt.algorithm,
                offset == 0 ? FakeCublasLt::kAligned : FakeCublasLt::kAny);
      EXPECT_EQ(cublas_lt.num_descriptors, 0);  // All have been destroyed.
    }
  }
}

// Operands that the library's algorithm does not support are handled the other
// way, decided for each call.
TEST(EmulatedCublasLtProducts,
     OperandsThatNoAlgorithmTakesAreMultipliedByCublas) {
  FakeCublasLt cublas_lt;
  cublas_lt.has_any = false;
  const Linear expected = RunLinear(NewDevice(Precision::kFp32, false), 1);
  NumBiasKernels();
  const auto unaligned = NewDevice(Precision::kFp32, true);
  const LogMessages log;
  const Linear actual = RunLinear(unaligned, 1);
  ASSERT_EQ(log.all().size(), 1);
  EXPECT_TRUE(absl::StrContains(
      log.all()[0], "with a bias at addresses that are not multiples"))
      << log.all()[0];
  EXPECT_EQ(actual.y, expected.y);
  EXPECT_EQ(actual.dbias, expected.dbias);
  EXPECT_EQ(NumBiasKernels(), 2 + 2 * 2);
  EXPECT_EQ(cublas_lt.num_products, 0);
  ExpectSame(RunLinear(NewDevice(Precision::kFp32, true), 0), expected,
             Storage::kFloat);
  EXPECT_EQ(NumBiasKernels(), 0);
  EXPECT_EQ(cublas_lt.num_products, 4);

  MatrixProduct p;
  p.m = p.n = p.k = 1;
  const auto planned = unaligned->PlanFusedProduct(p, Epilogue::kAddBias);
  const Array floats(unaligned.get(), Storage::kFloat, {1, 2}, 1);
  const FusedOperands operands = {floats.data(), floats.data(), floats.data(),
                                  floats.data(), nullptr};
  EXPECT_FALSE((*planned)->Takes(operands));
  const absl::Status status = (*planned)->Multiply(operands);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "16 bytes")) << status;
}

TEST(EmulatedCublasLtProducts,
     WithoutAnAlgorithmAreCublassAndTheLogSaysSoOnce) {
  const Linear expected = RunLinear(NewDevice(Precision::kBf16, false), 1);
  for (const cublasStatus_t answer :
       {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE}) {
    FakeCublasLt cublas_lt;
    cublas_lt.failing = "heuristics";
    cublas_lt.failure = answer;
    const LogMessages log;
    const Linear actual = RunLinear(NewDevice(Precision::kBf16, true), 1);
    EXPECT_EQ(actual.y, expected.y);
    EXPECT_EQ(actual.dweight, expected.dweight);
    EXPECT_EQ(actual.dbias, expected.dbias);
    EXPECT_EQ(cublas_lt.num_products, 0);
    ASSERT_EQ(log.all().size(), 1);
    EXPECT_TRUE(absl::StrContains(
        log.all()[0],
        "no algorithm for the product of 9 x 7 by 7 x 5 in bfloat16"))
        << log.all()[0];
  }
}

TEST(EmulatedCublasLtProducts, OptionsReachTheLibrary) {
  FakeCublasLt cublas_lt;
  MatrixProduct p;
  p.m = 3, p.n = 5, p.k = 7;
  CublasLtOptions options;
  LtDevice device(options);
  ExpectRight(device, p, Epilogue::kAddBias, 0);
  EXPECT_EQ(cublas_lt.compute, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(cublas_lt.stream, device.get()->stream());

  options.deterministic = false;
  options.allow_tf32 = true;
  LtDevice fast(options);
  ExpectRight(fast, p, Epilogue::kAddBias, 0);
  EXPECT_EQ(cublas_lt.compute, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(cublas_lt.algorithm, FakeCublasLt::kInPlace);
  // In-place partial sums would be rounded to the result's type.
  p.factors = p.result = Storage::kBfloat16;
  ExpectRight(fast, p, Epilogue::kAddBias, 0);
  EXPECT_EQ(cublas_lt.compute, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(cublas_lt.algorithm, FakeCublasLt::kAligned);

  options.max_workspace_bytes = 999;
  LtDevice small(options);
  EXPECT_EQ(*small.PlanFusedProduct(p, Epilogue::kAddBias), nullptr);
}

// Also at addresses that are aligned to no more than an element.
TEST(EmulatedCublasLtProducts, TheFastestAlgorithmIsTakenWhereBitsMayVary) {
  for (const auto fastest :
       {FakeCublasLt::kInPlace, FakeCublasLt::kAligned, FakeCublasLt::kAny}) {
    FakeCublasLt cublas_lt;
    for (const int algorithm : {4, 5, 6}) {
      cublas_lt.milliseconds[algorithm] = algorithm == fastest ? 1 : 2;
    }
    Trials trials([&](const std::function<absl::Status()>& work)
                      -> absl::StatusOr<absl::Duration> {
      const double start = cublas_lt.elapsed_milliseconds;
      const absl::Status status = work();
      if (!status.ok()) return status;
      return absl::Milliseconds(cublas_lt.elapsed_milliseconds - start);
    });
    CublasLtOptions options;
    options.trials = &trials;
    MatrixProduct p;
    p.m = 3, p.n = 5, p.k = 7;
    LtDevice deterministic(options);
    ASSERT_TRUE(deterministic.PlanFusedProduct(p, Epilogue::kSumA).ok());
    EXPECT_EQ(cublas_lt.num_products, 0);
    options.deterministic = false;
    LtDevice device(options);
    const LogMessages log;
    ExpectRight(device, p, Epilogue::kSumA, 0);
    EXPECT_EQ(cublas_lt.algorithm, fastest);
    ExpectRight(device, p, Epilogue::kSumA, 1);
    EXPECT_EQ(cublas_lt.algorithm, fastest == FakeCublasLt::kAny
                                       ? FakeCublasLt::kAny
                                       : FakeCublasLt::kInPlace);
    // One for each alignment, though both products were planned twice.
    ASSERT_EQ(log.all().size(), 2);
    EXPECT_TRUE(absl::StrContains(log.all()[0],
                                  "rows of 11, 12 and 13, aligned to 16 and 16 "
                                  "bytes: of 3 algorithms number"))
        << log.all()[0];
    EXPECT_TRUE(absl::StrContains(log.all()[1], "of 2 algorithms number"))
        << log.all()[1];
  }
}

TEST(EmulatedCublasLtProducts, ErrorsNameTheCallAndNothingIsLeftBehind) {
  const std::pair<const char*, const char*> calls[] = {
      {"create_product", "cublasLtMatmulDescCreate"},
      {"set_product", "cublasLtMatmulDescSetAttribute"},
      {"create_layout", "cublasLtMatrixLayoutCreate"},
      {"create_preference", "cublasLtMatmulPreferenceCreate"},
      {"set_preference", "cublasLtMatmulPreferenceSetAttribute"},
      {"heuristics", "cublasLtMatmulAlgoGetHeuristic"},
      {"matmul", "cublasLtMatmul of 3 x 7 by 7 x 5 with sums"}};
  for (const auto& [call, name] : calls) {
    FakeCublasLt cublas_lt;
    cublas_lt.failing = call;
    {
      LtDevice device;
      MatrixProduct p;
      p.m = 3, p.n = 5, p.k = 7;
      const auto planned = device.PlanFusedProduct(p, Epilogue::kSumA);
      absl::Status status = planned.status();
      if (status.ok()) {
        const Array array(device.get(), Storage::kFloat,
                          RandomValues(7 * 5, 1));
        status = (*planned)->Multiply(
            {array.data(), array.data(), array.data(), nullptr, array.data()});
      }
      EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), name)) << status;
    }
    EXPECT_EQ(cublas_lt.num_descriptors, 0) << call;
  }
  FakeCublasLt cublas_lt;
  cublas_lt.failing = "create";
  cublas_lt.failure = CUBLAS_STATUS_ALLOC_FAILED;
  EXPECT_EQ(
      CublasLtProducts::Create(FakeCublasLt::Functions(), {}).status().code(),
      absl::StatusCode::kResourceExhausted);
  cublas_lt.failing = "";
  LtDevice device;
  for (const bool accumulate : {false, true}) {
    MatrixProduct p;
    p.m = p.k = 1, p.n = accumulate ? 1 : 0;
    p.accumulate = accumulate;
    EXPECT_EQ(device.PlanFusedProduct(p, Epilogue::kAddBias).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

// If the library is installed, it has every function and accepts every
// attribute of a product; this needs no device.
TEST(EmulatedCublasLtFunctions, AreFoundAndTakeEveryAttribute) {
  UseInstalledLibraries(true);
  const auto found = LoadCublasLt();
  UseInstalledLibraries(false);
  if (!found.ok()) {
    EXPECT_EQ(found.status().code(), absl::StatusCode::kUnavailable);
    ASSERT_FALSE(absl::StrContains(found.status().message(), "has no function"))
        << found.status();
    GTEST_SKIP() << "cuBLASLt is not installed";
  }
  FakeCublasLt fake;
  CublasLtFunctions functions = *found;
  functions.create = FakeCublasLt::Functions().create;
  functions.destroy = FakeCublasLt::Functions().destroy;
  functions.heuristics =
      [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
         cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t*,
         int*) { return CUBLAS_STATUS_NOT_SUPPORTED; };
  const LtDevice device(CublasLtOptions(), functions);
  for (const Epilogue epilogue : {Epilogue::kAddBias, Epilogue::kSumA}) {
    for (const Storage storage : {Storage::kFloat, Storage::kBfloat16}) {
      MatrixProduct p;
      p.m = 3, p.n = 5, p.k = 7;
      p.transpose_a = p.transpose_b = true;
      p.factors = p.result = storage;
      const auto planned = device.PlanFusedProduct(p, epilogue);
      ASSERT_TRUE(planned.ok()) << planned.status();
      EXPECT_EQ(*planned, nullptr);
    }
  }
}

}  // namespace
}  // namespace ps
