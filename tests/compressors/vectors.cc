#include "tests/compressors/vectors.h"

#include <cmath>

#include "common/random.h"
#include "glog/logging.h"

namespace ps {
namespace {

double Exponential(RandomStream* random) {
  return -std::log(1 - random->Uniform());
}

double Signed(double magnitude, RandomStream* random) {
  return (random->Next() & 1) != 0 ? magnitude : -magnitude;
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", ACM
// TOMS 26, 2000; for a shape below 1 by their boost from shape + 1.
double Gamma(double shape, RandomStream* random) {
  const double d = shape + 1 - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random->Normal();
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log(1 - random->Uniform()) <
        0.5 * x * x + d * (1 - v + std::log(v))) {
      return d * v * std::pow(1 - random->Uniform(), 1 / shape);
    }
  }
}

double Draw(const std::string& law, RandomStream* random) {
  if (law == "gaussian") return random->Normal();
  if (law == "laplace") return Signed(Exponential(random), random);
  if (law == "gamma 0.5") {
    // Half the square of a standard normal draw.
    const double x = random->Normal();
    return Signed(0.5 * x * x, random);
  }
  if (law == "gamma 0.7") return Signed(Gamma(0.7, random), random);
  double shape = 0;
  if (law == "GP 0.1") shape = 0.1;
  if (law == "GP 0.2") shape = 0.2;
  if (law == "GP 0.3") shape = 0.3;
  CHECK_GT(shape, 0) << "no law " << law;
  return Signed(std::expm1(shape * Exponential(random)) / shape, random);
}

}  // namespace

std::vector<std::string> VectorNames() {
  return {"gaussian", "laplace", "heavy",  "zero",
          "constant", "spike",   "sparse", "denormal"};
}

std::vector<float> DrawLaw(const std::string& law, int64_t n, uint64_t seed) {
  RandomStream random(RandomKey(seed, law.size()));
  std::vector<float> x(n);
  for (float& each : x) each = static_cast<float>(Draw(law, &random));
  return x;
}

std::vector<float> MakeVector(const std::string& name, int64_t n,
                              uint64_t seed) {
  RandomStream random(RandomKey(seed, n));
  std::vector<float> x(n, 0.0f);
  if (name == "zero" || n == 0) return x;
  if (name == "spike") {
    x[random.Below(n)] = -3.5f;
    return x;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (name == "constant") {
      x[i] = i % 2 == 0 ? 0.25f : -0.25f;
    } else if (name == "sparse") {
      if (random.Below(10) == 0) x[i] = Draw("laplace", &random);
    } else if (name == "denormal") {
      x[i] = static_cast<float>(Draw("laplace", &random) * 1e-41);
    } else if (name == "heavy") {
      x[i] = static_cast<float>(Draw("GP 0.3", &random));
    } else {
      x[i] = static_cast<float>(Draw(name, &random));
    }
  }
  return x;
}

std::vector<float> GoldenVector(char name) {
  constexpr int64_t kSize = 100000;
  std::vector<float> ordered(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    const double t = -std::log1p(-(i + 0.5) / kSize);
    double magnitude = t;
    if (name == 'B') magnitude = std::expm1(0.2 * t) / 0.2;
    if (name == 'C') magnitude = std::pow(t, 2.0 / 3);
    if (name == 'D') magnitude = std::pow(t, 1 / 0.7);
    ordered[i] = static_cast<float>(i % 2 == 0 ? magnitude : -magnitude);
  }
  std::vector<float> x(kSize);
  for (int64_t j = 0; j < kSize; ++j) x[j] = ordered[61 * j % kSize];
  return x;
}

}  // namespace ps
