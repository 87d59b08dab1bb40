#include "compressors/lgc/slice_coder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "common/thread.h"
#include "compressors/compressor.h"
#include "compressors/lgc/adam.h"
#include "compressors/lgc/autoencoder.h"
#include "compressors/lgc/message.h"
#include "compressors/lgc/phases.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"

namespace ps {
namespace {

// A decoded push.
struct Push {
  std::vector<uint32_t> indices;
  LgcRemark remark;  // The leader's side information.
  LgcValues values;
};

size_t NumParameters(int num_workers) {
  return NumEncoderParameters() + num_workers * NumDecoderParameters();
}

class LgcSliceCoder final : public SliceCoder {
 public:
  explicit LgcSliceCoder(const SliceCoderOptions& options)
      : options_(options),
        config_(options.config.lgc()),
        phases_(config_),
        encoder_at_(options.num_workers, -1),
        adam_(config_.learning_rate(), NumParameters(options.num_workers)) {
    const uint64_t seed =
        RandomKey(options.seed, static_cast<uint64_t>(options.slice));
    parameters_ = InitialEncoder(seed);
    for (int rank = 0; rank < options.num_workers; ++rank) {
      const std::vector<float> decoder = InitialDecoder(seed, rank);
      parameters_.insert(parameters_.end(), decoder.begin(), decoder.end());
    }
  }

  ~LgcSliceCoder() override { Await(); }

  absl::StatusOr<int64_t> Check(const PayloadPieces& push,
                                const std::string* leader) const override {
    PS_ASSIGN_OR_RETURN(const Push read, Read(push, leader));
    return static_cast<int64_t>(read.indices.size());
  }

  absl::Status Apply(int64_t iteration, absl::Span<CoderPush> pushes) override {
    Await();
    const int leader = LeaderOf(iteration, options_.num_workers);
    LgcPush kind = LgcPush::kEverything;
    std::optional<TrainingExample<float>> example;
    const bool complete =
        static_cast<int>(pushes.size()) == options_.num_workers;
    if (complete && CodedByCompressor(pushes[leader].pieces)) {
      absl::StatusOr<Push> read = Read(pushes[leader].pieces, nullptr);
      if (!read.ok()) return Damaged(leader, read.status().message());
      if (read->remark.coded) {
        kind = LgcPush::kCode;
        PS_RETURN_IF_ERROR(DecodeAll(leader, *read, pushes));
      } else {
        kind = LgcPush::kValues;
        PS_ASSIGN_OR_RETURN(
            pushes[leader].decoded,
            EncodeSparse("raw32", read->indices, read->values.plain, 0,
                         options_.num_elements));
        pushes[leader].pieces = {pushes[leader].decoded.span()};
        example = ExampleOf(leader, *read, pushes);
      }
    } else if (complete) {
      PS_ASSIGN_OR_RETURN(
          const PayloadInfo plain,
          ValidatePayload(pushes[leader].pieces, options_.num_elements));
      if (plain.index_code != IndexCode::kDense && plain.count > 0) {
        kind = LgcPush::kFewValues;
      }
    }
    for (const CoderPush& push : pushes) {
      if (CodedByCompressor(push.pieces)) {
        return absl::DataLossError(absl::StrCat(
            "worker ", push.rank, " sends codes, and the leader, worker ",
            leader, ", does not"));
      }
    }
    phases_.Updated(kind, std::exchange(error_, std::nullopt));
    num_updates_ = iteration + 1;
    if (phases_.is_new()) {
      encoder_ = FloatBytes(
          {parameters_.begin(), parameters_.begin() + NumEncoderParameters()});
      // The next leader requests no positions, so it gets the encoder one
      // iteration later.
      encoder_at_.assign(options_.num_workers, num_updates_);
      ++encoder_at_[LeaderOf(num_updates_, options_.num_workers)];
    } else if (phases_.leader_lacks_encoder()) {
      encoder_at_[leader] = num_updates_;
    }
    if (example.has_value()) {
      step_ = Thread(
          "lgc", [this, trains = phases_.trains(), of = *std::move(example)] {
            error_ = Step(of, trains);
          });
    }
    return absl::OkStatus();
  }

  std::string RemarksFor(int rank, int64_t iteration) const override {
    LgcPlan plan;
    plan.sends_code = phases_.sends_code(iteration < num_updates_ ? 0 : 1);
    plan.version = phases_.version();
    if (iteration == encoder_at_[rank]) plan.encoder = encoder_;
    return Write(plan);
  }

  std::vector<std::string> news() const override { return phases_.news(); }

  void Save(StateWriter* writer) const override {
    Await();
    writer->PutInt(options_.num_workers);
    writer->PutInt(num_updates_);
    for (const int64_t iteration : encoder_at_) writer->PutInt(iteration);
    writer->PutBytes(encoder_);
    writer->PutInt(error_.has_value());
    const ReconstructionError error = error_.value_or(ReconstructionError());
    writer->PutDouble(error.error);
    writer->PutDouble(error.innovation);
    writer->PutDouble(error.signs);
    phases_.Save(writer);
    writer->PutFloats(parameters_);
    adam_.Save(writer);
  }

  absl::Status Load(StateReader* reader) override {
    PS_ASSIGN_OR_RETURN(const int64_t num_workers, reader->GetInt());
    if (num_workers < 1 || num_workers > kMostWorkers) {
      return absl::DataLossError(absl::StrCat(num_workers, " workers"));
    }
    PS_ASSIGN_OR_RETURN(num_updates_, reader->GetInt());
    encoder_at_.assign(num_workers, -1);
    for (int64_t& iteration : encoder_at_) {
      PS_ASSIGN_OR_RETURN(iteration, reader->GetInt());
    }
    encoder_at_.resize(options_.num_workers, -1);
    PS_ASSIGN_OR_RETURN(const absl::string_view encoder, reader->GetBytes());
    encoder_ = std::string(encoder);
    PS_ASSIGN_OR_RETURN(const int64_t has_error, reader->GetInt());
    ReconstructionError error;
    PS_ASSIGN_OR_RETURN(error.error, reader->GetDouble());
    PS_ASSIGN_OR_RETURN(error.innovation, reader->GetDouble());
    PS_ASSIGN_OR_RETURN(error.signs, reader->GetDouble());
    if (has_error != 0) error_ = error;
    PS_RETURN_IF_ERROR(phases_.Load(reader));
    // Values are read one after the other, so that a damaged number cannot take
    // much memory.
    std::vector<float> saved;
    std::vector<float> one(NumEncoderParameters());
    for (int64_t i = 0; i <= num_workers; ++i) {
      PS_RETURN_IF_ERROR(reader->GetFloats(absl::MakeSpan(one)));
      saved.insert(saved.end(), one.begin(), one.end());
      one.resize(NumDecoderParameters());
    }
    PS_RETURN_IF_ERROR(adam_.Load(reader, saved.size()));
    TakeParameters(std::move(saved), static_cast<int>(num_workers));
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kMostWorkers = 1 << 16;
  // The largest magnitude, relative to the leader's scale.
  static constexpr float kMostOfExample = 1e6f;

  static absl::Status Damaged(int rank, absl::string_view what) {
    return absl::DataLossError(absl::StrCat("worker ", rank, ": ", what));
  }

  const float* decoder(int rank) const {
    return parameters_.data() + NumParameters(rank);
  }

  // Takes the saved parameters. New workers get the decoder of worker 0.
  void TakeParameters(std::vector<float> saved, int num_workers) {
    parameters_ = std::move(saved);
    parameters_.resize(
        NumParameters(std::min(num_workers, options_.num_workers)));
    while (parameters_.size() < NumParameters(options_.num_workers)) {
      const std::vector<float> first(decoder(0),
                                     decoder(0) + NumDecoderParameters());
      parameters_.insert(parameters_.end(), first.begin(), first.end());
    }
    if (num_workers == options_.num_workers) return;
    phases_.WorkersChanged();
    // No update precedes, and the next one may have a smaller number.
    num_updates_ = 0;
    encoder_at_.assign(options_.num_workers, -1);
  }

  // Reads a push of value code kByCompressor; `leader` as in Check.
  absl::StatusOr<Push> Read(const PayloadPieces& payload,
                            const std::string* leader) const {
    PS_ASSIGN_OR_RETURN(CodedPayload coded,
                        ReadCoded(payload, options_.num_elements));
    Push push;
    push.indices = std::move(coded.indices);
    const auto count = static_cast<int64_t>(push.indices.size());
    if (count != coded.count || (leader != nullptr && !coded.remark.empty())) {
      return absl::InvalidArgumentError(
          "only the leader sends positions and a remark");
    }
    PS_ASSIGN_OR_RETURN(
        push.remark,
        ReadLgcRemark(leader != nullptr ? *leader : coded.remark, count));
    const int64_t num_coded = NumValues(push.remark.ranges);
    PS_RETURN_IF_ERROR(CheckRemark(push.remark, num_coded));
    if (!push.remark.coded) {
      if (leader != nullptr) {
        return absl::InvalidArgumentError("the leader does not send a code");
      }
      PS_ASSIGN_OR_RETURN(push.values, ReadLgcValues(coded.rest, count, 0, 0));
      return push;
    }
    PS_ASSIGN_OR_RETURN(
        push.values,
        ReadLgcValues(coded.rest, count - num_coded, num_coded,
                      leader != nullptr ? 0 : CodeLength(num_coded)));
    return push;
  }

  absl::Status CheckRemark(const LgcRemark& remark, int64_t num_coded) const {
    const int64_t most =
        MostCodedValues(options_.config, options_.num_elements);
    if (num_coded < config_.min_values() || num_coded > most) {
      return absl::InvalidArgumentError(
          absl::StrCat(num_coded, " values for an autoencoder; must be ",
                       config_.min_values(), " to ", most));
    }
    if (!remark.coded) return absl::OkStatus();
    if (remark.version == 0 || remark.version != phases_.version() ||
        !phases_.sends_code(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a code of autoencoder ", remark.version,
          phases_.sends_code(0)
              ? absl::StrCat("; this slice has ", phases_.version())
              : std::string(", where values are expected")));
    }
    const bool by_sign = config_.order() == LgcConfig::SIGN;
    if (by_sign != !remark.signs.empty()) {
      return absl::InvalidArgumentError("signs that fit another lgc.order");
    }
    return absl::OkStatus();
  }

  // Decodes the pushes of an iteration whose leader sends a code.
  absl::Status DecodeAll(int leader, const Push& of_leader,
                         absl::Span<CoderPush> pushes) const {
    const LgcRemark& remark = of_leader.remark;
    const std::string remark_bytes = Write(remark);
    const std::vector<uint32_t> order = OrderOf(remark.ranges, remark.signs);
    std::vector<bool> in_range(of_leader.indices.size(), false);
    for (const uint32_t element : order) in_range[element] = true;
    for (CoderPush& push : pushes) {
      // A worker whose gradient is not finite sends nothing.
      if (!CodedByCompressor(push.pieces)) continue;
      Push own;
      if (push.rank != leader) {
        absl::StatusOr<Push> read = Read(push.pieces, &remark_bytes);
        if (!read.ok()) return Damaged(push.rank, read.status().message());
        own = *std::move(read);
      }
      const Push& one = push.rank == leader ? of_leader : own;
      if (one.indices != of_leader.indices) {
        return Damaged(push.rank, "codes at other positions than the leader's");
      }
      std::vector<float> innovation(order.size(), 0.0f);
      for (size_t i = 0; i < one.values.places.size(); ++i) {
        innovation[one.values.places[i]] = one.values.innovation[i];
      }
      const std::vector<float> decoded =
          Decode<float>(decoder(push.rank), of_leader.values.code, innovation);
      std::vector<float> values(one.indices.size());
      auto plain = one.values.plain.begin();
      for (size_t i = 0; i < values.size(); ++i) {
        if (!in_range[i]) values[i] = *plain++;
      }
      for (size_t i = 0; i < order.size(); ++i) {
        values[order[i]] = decoded[i] * remark.scale;
        if (!std::isfinite(values[order[i]])) {
          return Damaged(push.rank, "a decoded value is not finite");
        }
      }
      PS_ASSIGN_OR_RETURN(
          push.decoded,
          EncodeSparse("raw32", one.indices, values, 0, options_.num_elements));
      push.pieces = {push.decoded.span()};
    }
    return absl::OkStatus();
  }

  // Returns the values of all workers at the leader's positions; nothing if a
  // worker sent none there, or if its values are so far from the leader's that
  // Adam's squares would overflow.
  std::optional<TrainingExample<float>> ExampleOf(
      int leader, const Push& of_leader,
      absl::Span<const CoderPush> pushes) const {
    const LgcRemark& remark = of_leader.remark;
    const std::vector<float>& values = of_leader.values.plain;
    const std::vector<uint32_t> order =
        OrderOf(remark.ranges, config_.order() == LgcConfig::SIGN
                                   ? Signs(remark.ranges, values)
                                   : std::vector<bool>());
    const float scale = Rms(Ordered(order, values, 1));
    if (!(scale > 0 && std::isfinite(scale))) return std::nullopt;
    TrainingExample<float> example;
    example.leader = leader;
    for (const CoderPush& push : pushes) {
      // Only a damaged log has this; Apply reports it.
      if (CodedByCompressor(push.pieces)) return std::nullopt;
      std::vector<uint32_t> indices;
      std::vector<float> own;
      DecodePayload(push.pieces, &indices, &own);
      if (indices != of_leader.indices) return std::nullopt;
      example.values.push_back(Ordered(order, own, scale));
      const std::vector<float>& x = example.values.back();
      for (const float value : x) {
        if (!(std::fabs(value) <= kMostOfExample)) return std::nullopt;
      }
      example.innovations.push_back(
          AtPlaces(x, LargestPlaces(x, config_.innovation())));
    }
    return example;
  }

  // Trains or measures; runs on step_.
  ReconstructionError Step(const TrainingExample<float>& example, bool trains) {
    ReconstructionError first;
    std::vector<float> gradient;
    const int passes = trains ? config_.passes() : 1;
    for (int pass = 0; pass < passes; ++pass) {
      ReconstructionError error;
      AutoencoderLoss<float>(parameters_, example, trains ? &gradient : nullptr,
                             &error);
      if (pass == 0) first = error;
      if (trains) adam_.Step(gradient, &parameters_);
    }
    return first;
  }

  void Await() const {
    if (step_.joinable()) step_.Join();
  }

  const SliceCoderOptions options_;
  const LgcConfig config_;
  LgcPhases phases_;
  int64_t num_updates_ = 0;
  // The encoder in use, and for each worker the iteration whose positions carry
  // it; -1 for none.
  std::string encoder_;
  std::vector<int64_t> encoder_at_;
  // A running step uses the following three.
  std::optional<ReconstructionError> error_;  // The error of the last step.
  std::vector<float> parameters_;             // The encoder, then the decoders.
  Adam adam_;
  mutable Thread step_;
};

}  // namespace

std::unique_ptr<SliceCoder> NewLgcSliceCoder(const SliceCoderOptions& options) {
  return std::make_unique<LgcSliceCoder>(options);
}

SliceCoderBytes LgcSliceCoderBytes(const SliceCoderOptions& options) {
  SliceCoderBytes bytes;
  const auto encoder = static_cast<int64_t>(NumEncoderParameters());
  bytes.remark = 4 * encoder + 8;
  // The memory holds parameters, two moments and a gradient; the encoder for
  // workers; and for each value and worker the activations of all layers, and
  // their gradients.
  constexpr double kBytesAValue = 4096;
  const auto values = static_cast<double>(
      MostCodedValues(options.config, options.num_elements));
  bytes.memory =
      static_cast<int64_t>(16 * NumParameters(options.num_workers)) +
      bytes.remark +
      static_cast<int64_t>(kBytesAValue * values * options.num_workers);
  return bytes;
}

}  // namespace ps
