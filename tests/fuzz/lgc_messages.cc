#include "tests/fuzz/lgc_messages.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/status_macros.h"
#include "compressors/lgc/autoencoder.h"
#include "compressors/lgc/message.h"
#include "compressors/lgc/slice_coder.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"
#include "glog/logging.h"

namespace ps {
namespace {

constexpr int64_t kElements = 300;
constexpr uint32_t kPositions = 60;
constexpr uint32_t kCoded = 48;  // The first of them.
constexpr int kWorkers = 2;

enum Reader : char { kRemark, kValues, kPlan, kShared, kLeads, kFollows };

PayloadBuffer Plain() {
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < kPositions; ++i) indices.push_back(5 * i);
  return EncodeSparse("raw32", indices, std::vector<float>(kPositions, 0.5f), 0,
                      kElements)
      .value();
}

LgcRemark Remark(bool coded) {
  LgcRemark remark;
  remark.coded = coded;
  remark.ranges = {{0, kCoded}};
  remark.version = 1;
  remark.scale = 0.5f;
  if (coded) remark.signs.assign(kCoded, true);
  return remark;
}

LgcValues Values(bool leads) {
  LgcValues values;
  values.plain.assign(kPositions - kCoded, 1.0f);
  if (leads) values.code.assign(CodeLength(kCoded), 0.25f);
  values.places = {3, 40};
  values.innovation = {2, -4};
  return values;
}

// Has been trained in one step, and waits for a code of worker 1.
const SliceCoder& CoderThatTakesCodes() {
  static const SliceCoder* const waiting = [] {
    SliceCoderOptions options;
    options.config.set_ratio(0.2);
    LgcConfig* const lgc = options.config.mutable_lgc();
    lgc->set_train_iterations(1);
    lgc->set_gate_error(100);
    lgc->set_gate_gain(100);
    lgc->set_min_values(16);
    options.num_elements = kElements;
    options.num_workers = kWorkers;
    std::unique_ptr<SliceCoder> coder = NewLgcSliceCoder(options);
    const PayloadBuffer plain = Plain();
    LgcValues all;
    all.plain.assign(kPositions, 0.5f);
    const PayloadBuffer of_leader =
        EncodeCoded(plain, Write(Remark(false)), Write(all, 0));
    for (int64_t iteration = 0; iteration < 3; ++iteration) {
      std::vector<CoderPush> pushes(kWorkers);
      for (int rank = 0; rank < kWorkers; ++rank) {
        pushes[rank].rank = rank;
        const bool leads = rank == static_cast<int>(iteration % kWorkers);
        pushes[rank].pieces = {(leads ? of_leader : plain).span()};
      }
      const absl::Status applied =
          coder->Apply(iteration, absl::MakeSpan(pushes));
      CHECK(applied.ok()) << applied;
    }
    return coder.release();
  }();
  return *waiting;
}

std::string Tagged(Reader reader, absl::string_view bytes) {
  return absl::StrCat(std::string(1, reader), bytes);
}

absl::string_view TextOf(const PayloadBuffer& payload) {
  return {reinterpret_cast<const char*>(payload.data()), payload.size_bytes()};
}

}  // namespace

absl::Status FuzzLgc(absl::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("no reader is named");
  const absl::string_view rest = bytes.substr(1);
  const PayloadPieces pieces = {
      {reinterpret_cast<const uint8_t*>(rest.data()), rest.size()}};
  switch (bytes[0]) {
    case kRemark:
      return ReadLgcRemark(rest, kPositions).status();
    case kValues:
      return ReadLgcValues(rest, kPositions - kCoded, kCoded,
                           CodeLength(kCoded))
          .status();
    case kPlan:
      return ReadLgcPlan(rest).status();
    case kShared:
      PS_RETURN_IF_ERROR(ReadRemarks(pieces).status());
      return ReadPositions(pieces, kElements).status();
    case kLeads:
      PS_RETURN_IF_ERROR(CoderThatTakesCodes().Check(pieces, nullptr).status());
      return PositionsOf(pieces).status();
    case kFollows: {
      const std::string remark = Write(Remark(true));
      return CoderThatTakesCodes().Check(pieces, &remark).status();
    }
    default:
      return absl::InvalidArgumentError("no such reader");
  }
}

std::vector<std::string> LgcMessages() {
  const PayloadBuffer plain = Plain();
  const std::string remark = Write(Remark(true));
  const PayloadBuffer of_leader =
      EncodeCoded(plain, remark, Write(Values(true), kCoded));
  const PayloadBuffer of_follower =
      EncodeCoded(plain, "", Write(Values(false), kCoded));
  LgcPlan plan;
  plan.sends_code = true;
  plan.version = 1;
  const PayloadBuffer shared =
      WithServerRemarks(PositionsOf({of_leader.span()}).value(), Write(plan));
  return {Tagged(kRemark, remark),
          Tagged(kRemark, Write(Remark(false))),
          Tagged(kValues, Write(Values(true), kCoded)),
          Tagged(kPlan, Write(plan)),
          Tagged(kShared, TextOf(shared)),
          Tagged(kLeads, TextOf(of_leader)),
          Tagged(kFollows, TextOf(of_follower))};
}

}  // namespace ps
