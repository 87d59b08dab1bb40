#include "compressors/lgc/autoencoder.h"

#include <algorithm>
#include <utility>

#include "common/random.h"
#include "compressors/lgc/convolution.h"

namespace ps {
namespace {

using Layers = std::vector<ConvolutionShape>;

constexpr int kCodeChannels = 4;
constexpr int kDecoderChannels = 32;

const Layers& EncoderLayers() {
  constexpr auto kHalving = ConvolutionKind::kHalving;
  static const Layers* const layers = new Layers{
      {kHalving, 1, 64, false},
      {kHalving, 64, 128, false},
      {kHalving, 128, 256, false},
      {kHalving, 256, 64, false},
      {ConvolutionKind::kPointwise, 64, kCodeChannels, false},
  };
  return *layers;
}

const Layers& DecoderLayers() {
  constexpr auto kDoubling = ConvolutionKind::kDoubling;
  static const Layers* const layers = new Layers{
      {kDoubling, kCodeChannels, 32, false},
      {kDoubling, 32, 64, false},
      {kDoubling, 64, 128, false},
      {kDoubling, 128, kDecoderChannels, false},
  };
  return *layers;
}

// Joins the decoder's output and the innovation.
const ConvolutionShape kJoin = {ConvolutionKind::kPointwise,
                                kDecoderChannels + 1, 1, true};

int64_t NumParameters(const Layers& layers) {
  int64_t sum = 0;
  for (const ConvolutionShape& layer : layers) sum += layer.num_parameters();
  return sum;
}

// Activations: the input of every layer, and the last output.
template <typename T>
using Signals = std::vector<std::vector<T>>;

template <typename T>
Signals<T> Run(const Layers& layers, const T* parameters,
               std::vector<T> input) {
  Signals<T> signals(layers.size() + 1);
  signals[0] = std::move(input);
  for (size_t i = 0; i < layers.size(); ++i) {
    Forward(layers[i], parameters, signals[i], &signals[i + 1]);
    parameters += layers[i].num_parameters();
  }
  return signals;
}

// Backpropagates. d_output is overwritten. Replaces it by the gradient of the
// input if asked.
template <typename T>
void RunBack(const Layers& layers, const T* parameters,
             const Signals<T>& signals, bool to_input, std::vector<T>* d_output,
             T* d_parameters) {
  int64_t end = NumParameters(layers);
  for (size_t i = layers.size(); i-- > 0;) {
    const int64_t begin = end - layers[i].num_parameters();
    std::vector<T> dx;
    Backward(layers[i], parameters + begin, signals[i], signals[i + 1],
             d_output, d_parameters + begin, i > 0 || to_input ? &dx : nullptr);
    d_output->swap(dx);
    end = begin;
  }
}

template <typename T>
std::vector<T> PaddedCopy(absl::Span<const T> x) {
  std::vector<T> padded(PaddedLength(static_cast<int64_t>(x.size())), T(0));
  std::copy(x.begin(), x.end(), padded.begin());
  return padded;
}

// The results of one worker's decoder.
template <typename T>
struct Decoding {
  Signals<T> signals;
  std::vector<T> joined;   // [padded length, kDecoderChannels + 1]
  std::vector<T> decoded;  // [padded length]
};

template <typename T>
Decoding<T> RunDecoder(const T* decoder, const std::vector<T>& code,
                       absl::Span<const T> innovation) {
  Decoding<T> result;
  result.signals = Run(DecoderLayers(), decoder, code);
  const std::vector<T>& common = result.signals.back();
  const size_t length = common.size() / kDecoderChannels;
  result.joined.assign(length * (kDecoderChannels + 1), T(0));
  for (size_t i = 0; i < length; ++i) {
    T* const row = result.joined.data() + i * (kDecoderChannels + 1);
    std::copy_n(common.begin() + i * kDecoderChannels, kDecoderChannels, row);
    if (i < innovation.size()) row[kDecoderChannels] = innovation[i];
  }
  Forward(kJoin, decoder + NumParameters(DecoderLayers()), result.joined,
          &result.decoded);
  return result;
}

// Adds the gradients of the decoder and of the code.
template <typename T>
void RunDecoderBack(const T* decoder, const Decoding<T>& decoding,
                    std::vector<T>* d_decoded, T* d_decoder,
                    std::vector<T>* d_code) {
  const int64_t join = NumParameters(DecoderLayers());
  std::vector<T> d_joined;
  Backward(kJoin, decoder + join, decoding.joined, decoding.decoded, d_decoded,
           d_decoder + join, &d_joined);
  const size_t length = decoding.decoded.size();
  std::vector<T> d_common(length * kDecoderChannels);
  for (size_t i = 0; i < length; ++i) {
    std::copy_n(d_joined.begin() + i * (kDecoderChannels + 1), kDecoderChannels,
                d_common.begin() + i * kDecoderChannels);
  }
  RunBack(DecoderLayers(), decoder, decoding.signals, /*to_input=*/true,
          &d_common, d_decoder);
  for (size_t i = 0; i < d_code->size(); ++i) (*d_code)[i] += d_common[i];
}

// Returns the sum of squared deviations of x from two means: that of the x
// where the leader's values are at least 0, and that of the others.
template <typename T>
double LeftOfMeans(const std::vector<T>& x, const std::vector<T>& leader) {
  double count[2] = {0, 0}, sum[2] = {0, 0}, squares = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const int side = leader[i] >= 0 ? 1 : 0;
    ++count[side];
    sum[side] += static_cast<double>(x[i]);
    squares += static_cast<double>(x[i]) * x[i];
  }
  for (const int side : {0, 1}) {
    if (count[side] > 0) squares -= sum[side] * sum[side] / count[side];
  }
  return squares;
}

void Draw(const Layers& layers, uint64_t key, std::vector<float>* parameters) {
  RandomStream stream(key, parameters->size());
  for (const ConvolutionShape& layer : layers) {
    const double bound = layer.InitialBound();
    for (int64_t i = 0; i < layer.num_parameters(); ++i) {
      parameters->push_back(static_cast<float>(stream.Uniform(-bound, bound)));
    }
  }
}

}  // namespace

int64_t NumEncoderParameters() { return NumParameters(EncoderLayers()); }

int64_t NumDecoderParameters() {
  return NumParameters(DecoderLayers()) + kJoin.num_parameters();
}

std::vector<float> InitialEncoder(uint64_t seed) {
  std::vector<float> encoder;
  Draw(EncoderLayers(), RandomKey(seed, uint64_t{0}, uint64_t{0}), &encoder);
  return encoder;
}

std::vector<float> InitialDecoder(uint64_t seed, int rank) {
  std::vector<float> decoder;
  const uint64_t key =
      RandomKey(seed, uint64_t{1}, static_cast<uint64_t>(rank));
  Draw(DecoderLayers(), key, &decoder);
  Draw({kJoin}, key, &decoder);
  return decoder;
}

template <typename T>
std::vector<T> Encode(const T* encoder, absl::Span<const T> x) {
  return std::move(Run(EncoderLayers(), encoder, PaddedCopy(x)).back());
}

template <typename T>
std::vector<T> Decode(const T* decoder, const std::vector<T>& code,
                      absl::Span<const T> innovation) {
  std::vector<T> decoded = RunDecoder(decoder, code, innovation).decoded;
  decoded.resize(innovation.size());
  return decoded;
}

template <typename T>
double AutoencoderLoss(absl::Span<const T> parameters,
                       const TrainingExample<T>& example,
                       std::vector<T>* gradient, ReconstructionError* error) {
  const size_t num_workers = example.values.size();
  const size_t length = example.values[0].size();
  const T* const encoder = parameters.data();
  std::vector<Signals<T>> codes;
  for (const std::vector<T>& x : example.values) {
    codes.push_back(Run(EncoderLayers(), encoder, PaddedCopy<T>(x)));
  }
  const size_t code_size = codes[0].back().size();
  std::vector<std::vector<T>> d_codes(num_workers,
                                      std::vector<T>(code_size, T(0)));
  if (gradient != nullptr) gradient->assign(parameters.size(), T(0));
  double loss = 0;
  for (size_t k = 0; k < num_workers; ++k) {
    for (size_t m = 0; m < num_workers; ++m) {
      double sum = 0;
      for (size_t i = 0; i < code_size; ++i) {
        const T difference = codes[k].back()[i] - codes[m].back()[i];
        sum += static_cast<double>(difference * difference);
        // Each unordered pair is counted twice.
        d_codes[k][i] += 2 * difference / static_cast<T>(code_size);
      }
      loss += 0.5 * sum / static_cast<double>(code_size);
    }
  }
  double left = 0, left_of_innovation = 0, left_of_signs = 0, total = 0;
  for (size_t k = 0; k < num_workers; ++k) {
    const int64_t begin = NumEncoderParameters() +
                          static_cast<int64_t>(k) * NumDecoderParameters();
    const std::vector<T>& x = example.values[k];
    const std::vector<T>& innovation = example.innovations[k];
    const Decoding<T> decoding = RunDecoder<T>(
        encoder + begin, codes[example.leader].back(), innovation);
    std::vector<T> d_decoded(decoding.decoded.size(), T(0));
    double of_worker = 0;
    for (size_t i = 0; i < length; ++i) {
      const T difference = decoding.decoded[i] - x[i];
      const double missing = static_cast<double>(innovation[i] - x[i]);
      of_worker += static_cast<double>(difference) * difference;
      left_of_innovation += missing * missing;
      total += static_cast<double>(x[i]) * x[i];
      d_decoded[i] = difference / static_cast<T>(length);
    }
    left += of_worker;
    left_of_signs += LeftOfMeans(x, example.values[example.leader]);
    loss += 0.5 * of_worker / static_cast<double>(length);
    if (gradient == nullptr) continue;
    RunDecoderBack<T>(encoder + begin, decoding, &d_decoded,
                      gradient->data() + begin, &d_codes[example.leader]);
  }
  error->error = total > 0 ? left / total : 0;
  error->innovation = total > 0 ? left_of_innovation / total : 0;
  error->signs = total > 0 ? left_of_signs / total : 0;
  if (gradient == nullptr) return loss;
  for (size_t k = 0; k < num_workers; ++k) {
    RunBack(EncoderLayers(), encoder, codes[k], /*to_input=*/false, &d_codes[k],
            gradient->data());
  }
  return loss;
}

template std::vector<float> Encode<float>(const float*,
                                          absl::Span<const float>);
template std::vector<double> Encode<double>(const double*,
                                            absl::Span<const double>);
template std::vector<float> Decode<float>(const float*,
                                          const std::vector<float>&,
                                          absl::Span<const float>);
template std::vector<double> Decode<double>(const double*,
                                            const std::vector<double>&,
                                            absl::Span<const double>);
template double AutoencoderLoss<float>(absl::Span<const float>,
                                       const TrainingExample<float>&,
                                       std::vector<float>*,
                                       ReconstructionError*);
template double AutoencoderLoss<double>(absl::Span<const double>,
                                        const TrainingExample<double>&,
                                        std::vector<double>*,
                                        ReconstructionError*);

}  // namespace ps
