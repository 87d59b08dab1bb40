// Products with an epilogue by cuBLASLt, compared with sums in double, at round
// and odd sizes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/precision.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/cuda/layers/layer_device_for_test.h"
#include "tests/tensor/require_device.h"

namespace ps {
namespace {

using Array = DeviceValues;

class FusedProducts : public testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    PS_REQUIRE_DEVICE();
    device_ = NewLayerDeviceForTest(GetParam());
  }

  // The relative effect of rounding one factor on a product.
  double factor_rounding() const {
    return device_->precision() == Precision::kTf32 ? 1.0 / 1024 : 1e-6;
  }

  // Equal within the rounding of the results and of the factors.
  void ExpectNear(const std::vector<float>& actual,
                  const std::vector<double>& expected, Storage storage,
                  int64_t k, double rounding) const {
    const double stored = storage == Storage::kBfloat16 ? 1.0 / 256 : 1e-6;
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i],
                  stored * std::abs(expected[i]) +
                      2 * rounding * std::sqrt(static_cast<double>(k)) + 1e-5)
          << "element " << i;
    }
  }

  // Runs twice and expects the same bits. Returns whether the device supports
  // it.
  bool Check(const MatrixProduct& p, Epilogue epilogue, int64_t offset) {
    const bool adds = epilogue == Epilogue::kAddBias;
    const auto planned = device_->PlanFusedProduct(p, epilogue);
    EXPECT_TRUE(planned.ok()) << planned.status();
    if (!planned.ok() || *planned == nullptr) return false;
    const Array a(device_.get(), p.factors, RandomValues(p.m * p.k, 1), offset);
    const Array b(device_.get(), p.factors, RandomValues(p.k * p.n, 2), offset);
    const Array c(device_.get(), p.result, RandomValues(p.m * p.n, 3), offset);
    const Array vector(device_.get(), p.result,
                       RandomValues(adds ? p.n : p.m, 4), offset);
    FusedOperands operands = {a.data(), b.data(), c.data(), nullptr, nullptr};
    if (adds) {
      operands.bias = vector.data();
    } else {
      operands.sums = vector.data();
    }
    if (!(*planned)->Takes(operands)) return false;
    const std::vector<float> x = a.Values(), y = b.Values();
    const std::vector<float> before = vector.Values();
    std::vector<double> product(p.m * p.n), sums(before.begin(), before.end());
    for (int64_t i = 0; i < p.m; ++i) {
      const auto left = [&](int64_t k) -> double {
        return p.transpose_a ? x[k * p.m + i] : x[i * p.k + k];
      };
      if (!adds) {
        sums[i] = 0;
        for (int64_t k = 0; k < p.k; ++k) sums[i] += left(k);
      }
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = adds ? before[j] : 0;
        for (int64_t k = 0; k < p.k; ++k) {
          sum += left(k) * (p.transpose_b ? y[j * p.k + k] : y[k * p.n + j]);
        }
        product[i * p.n + j] = sum;
      }
    }
    std::vector<float> first;
    for (int i = 0; i < 2; ++i) {
      const absl::Status status = (*planned)->Multiply(operands);
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) return true;
      const std::vector<float> result = c.Values();
      if (i == 0) first = result;
      EXPECT_EQ(result, first);
      ExpectNear(result, product, p.result, p.k, factor_rounding());
      ExpectNear(vector.Values(), sums, p.result, p.k, factor_rounding());
    }
    return true;
  }

  std::shared_ptr<LayerDevice> device_;
};

TEST_P(FusedProducts, EqualSumsInDouble) {
  for (const auto& [rows, in, out] :
       {std::make_tuple(64, 256, 128), std::make_tuple(9, 7, 5),
        std::make_tuple(300, 32, 1), std::make_tuple(1, 33, 65)}) {
    for (const int64_t offset : {0, 1}) {
      MatrixProduct forward;
      forward.m = rows, forward.n = out, forward.k = in;
      forward.transpose_b = true;
      forward.factors = forward.result = device_->storage();
      MatrixProduct gradient;
      gradient.m = out, gradient.n = in, gradient.k = rows;
      gradient.transpose_a = true;
      gradient.factors = device_->storage();
      const std::string what = absl::StrCat(rows, " rows, ", in, " to ", out,
                                            " features, offset ", offset);
      SCOPED_TRACE(what);
      const bool does_forward = Check(forward, Epilogue::kAddBias, offset);
      const bool does_gradient = Check(gradient, Epilogue::kSumA, offset);
      // Which of them a library supports is up to the library.
      std::cout << what << ": bias " << (does_forward ? "fused" : "apart")
                << ", its gradient " << (does_gradient ? "fused" : "apart")
                << std::endl;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnDevice, FusedProducts,
                         testing::Values(Precision::kFp32, Precision::kTf32,
                                         Precision::kBf16),
                         [](const testing::TestParamInfo<Precision>& info) {
                           return std::string(PrecisionName(info.param));
                         });

}  // namespace
}  // namespace ps
