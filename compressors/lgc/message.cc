#include "compressors/lgc/message.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/lgc/autoencoder.h"
#include "compressors/payload/bit_stream.h"
#include "compressors/payload/piece_reader.h"

namespace ps {
namespace {

void Put(const void* bytes, size_t size, std::string* out) {
  out->append(static_cast<const char*>(bytes), size);
}

void PutU32(size_t value, std::string* out) {
  const auto number = static_cast<uint32_t>(value);
  Put(&number, sizeof(number), out);
}

void PutFloats(const std::vector<float>& values, std::string* out) {
  Put(values.data(), values.size() * sizeof(float), out);
}

// A cursor over a text.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes) {}

  absl::StatusOr<absl::string_view> Take(uint64_t size) {
    if (size > rest_.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          size, " bytes are missing; ", rest_.size(), " are left"));
    }
    const absl::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  absl::StatusOr<uint32_t> TakeU32() {
    PS_ASSIGN_OR_RETURN(const absl::string_view bytes, Take(sizeof(uint32_t)));
    uint32_t number;
    std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  }

  // Reads finite numbers of at most this magnitude.
  absl::StatusOr<std::vector<float>> TakeFloats(int64_t count, float most) {
    PS_ASSIGN_OR_RETURN(const absl::string_view bytes,
                        Take(static_cast<uint64_t>(count) * sizeof(float)));
    std::vector<float> values = FloatsOf(bytes);
    for (const float value : values) {
      // This form of the condition refuses NaN too.
      if (!(std::fabs(value) <= most)) {
        return absl::InvalidArgumentError(
            absl::StrCat("a value of ", value, "; at most ", most));
      }
    }
    return values;
  }

  absl::Status Finish() const {
    if (rest_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(rest_.size(), " bytes are left over"));
  }

  absl::string_view rest() const { return rest_; }

 private:
  absl::string_view rest_;
};

std::string PackedBits(const std::vector<uint32_t>& numbers, int width) {
  std::string bytes(BytesOfBits(static_cast<int64_t>(numbers.size()) * width),
                    '\0');
  // BitWriter writes words of 32 bits before they are full.
  std::vector<uint8_t> room(bytes.size() + sizeof(uint64_t));
  BitWriter writer(room.data());
  for (const uint32_t number : numbers) writer.Put(number, width);
  writer.Finish();
  std::memcpy(&bytes[0], room.data(), bytes.size());
  return bytes;
}

absl::StatusOr<std::vector<uint32_t>> UnpackedBits(absl::string_view bytes,
                                                   uint32_t count, int width) {
  const PayloadPieces pieces = {absl::MakeSpan(
      reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size())};
  BitReader reader(PieceReader(pieces, 0, static_cast<int64_t>(bytes.size())));
  std::vector<uint32_t> numbers(count);
  for (uint32_t& number : numbers) {
    number = static_cast<uint32_t>(reader.Read(width));
  }
  if (!reader.AtEnd()) {
    return absl::InvalidArgumentError("bits that fill a byte are not 0");
  }
  return numbers;
}

int PlaceBits(int64_t num_coded) {
  return num_coded < 2 ? 0
                       : static_cast<int>(absl::bit_width(
                             static_cast<uint32_t>(num_coded - 1)));
}

}  // namespace

std::string FloatBytes(const std::vector<float>& values) {
  std::string bytes;
  PutFloats(values, &bytes);
  return bytes;
}

std::vector<float> FloatsOf(absl::string_view bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) {
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  }
  return values;
}

std::string Write(const LgcRemark& remark) {
  std::string bytes;
  PutU32(remark.coded ? 1 : 0, &bytes);
  PutU32(remark.ranges.size(), &bytes);
  for (const ValueRange& range : remark.ranges) {
    PutU32(range.begin, &bytes);
    PutU32(range.end, &bytes);
  }
  if (!remark.coded) return bytes;
  PutU32(remark.version, &bytes);
  Put(&remark.scale, sizeof(remark.scale), &bytes);
  bytes += PackedBits({remark.signs.begin(), remark.signs.end()}, 1);
  return bytes;
}

absl::StatusOr<LgcRemark> ReadLgcRemark(absl::string_view bytes,
                                        int64_t num_elements) {
  Reader reader(bytes);
  LgcRemark remark;
  PS_ASSIGN_OR_RETURN(const uint32_t coded, reader.TakeU32());
  if (coded > 1) {
    return absl::InvalidArgumentError(absl::StrCat("a remark of kind ", coded));
  }
  remark.coded = coded == 1;
  PS_ASSIGN_OR_RETURN(const uint32_t num_ranges, reader.TakeU32());
  uint32_t end = 0;
  for (uint32_t i = 0; i < num_ranges; ++i) {
    ValueRange range;
    PS_ASSIGN_OR_RETURN(range.begin, reader.TakeU32());
    PS_ASSIGN_OR_RETURN(range.end, reader.TakeU32());
    if (range.begin < end || range.end < range.begin ||
        range.end > num_elements) {
      return absl::InvalidArgumentError(
          absl::StrCat("elements ", range.begin, " to ", range.end, " after ",
                       end, ", of ", num_elements));
    }
    end = range.end;
    remark.ranges.push_back(range);
  }
  if (!remark.coded) {
    PS_RETURN_IF_ERROR(reader.Finish());
    return remark;
  }
  PS_ASSIGN_OR_RETURN(remark.version, reader.TakeU32());
  PS_ASSIGN_OR_RETURN(const std::vector<float> scale,
                      reader.TakeFloats(1, kMaxScale));
  remark.scale = scale[0];
  if (!(remark.scale > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a scale of ", remark.scale));
  }
  const int64_t count = NumValues(remark.ranges);
  if (!reader.rest().empty()) {
    PS_ASSIGN_OR_RETURN(const absl::string_view signs,
                        reader.Take(BytesOfBits(count)));
    PS_ASSIGN_OR_RETURN(const std::vector<uint32_t> bits,
                        UnpackedBits(signs, static_cast<uint32_t>(count), 1));
    remark.signs.assign(bits.begin(), bits.end());
  }
  PS_RETURN_IF_ERROR(reader.Finish());
  return remark;
}

std::string Write(const LgcValues& values, int64_t num_coded) {
  std::string bytes;
  PutFloats(values.plain, &bytes);
  if (num_coded == 0) return bytes;
  PutFloats(values.code, &bytes);
  PutU32(values.places.size(), &bytes);
  bytes += PackedBits(values.places, PlaceBits(num_coded));
  PutFloats(values.innovation, &bytes);
  return bytes;
}

absl::StatusOr<LgcValues> ReadLgcValues(absl::string_view bytes,
                                        int64_t num_plain, int64_t num_coded,
                                        int64_t code_length) {
  Reader reader(bytes);
  LgcValues values;
  PS_ASSIGN_OR_RETURN(
      values.plain,
      reader.TakeFloats(num_plain, std::numeric_limits<float>::max()));
  if (num_coded > 0) {
    PS_ASSIGN_OR_RETURN(values.code, reader.TakeFloats(code_length, kMaxCoded));
    PS_ASSIGN_OR_RETURN(const uint32_t count, reader.TakeU32());
    if (count > num_coded) {
      return absl::InvalidArgumentError(
          absl::StrCat("an innovation of ", count, " values, of ", num_coded));
    }
    const int width = PlaceBits(num_coded);
    PS_ASSIGN_OR_RETURN(const absl::string_view places,
                        reader.Take(BytesOfBits(int64_t{count} * width)));
    PS_ASSIGN_OR_RETURN(values.places, UnpackedBits(places, count, width));
    for (uint32_t i = 0; i < count; ++i) {
      if (values.places[i] >= num_coded ||
          (i > 0 && values.places[i] <= values.places[i - 1])) {
        return absl::InvalidArgumentError(absl::StrCat(
            "place ", values.places[i], " of an innovation, of ", num_coded));
      }
    }
    PS_ASSIGN_OR_RETURN(values.innovation, reader.TakeFloats(count, kMaxCoded));
  }
  PS_RETURN_IF_ERROR(reader.Finish());
  return values;
}

std::string Write(const LgcPlan& plan) {
  std::string bytes;
  PutU32(plan.sends_code ? 1 : 0, &bytes);
  PutU32(plan.version, &bytes);
  bytes += plan.encoder;
  return bytes;
}

absl::StatusOr<LgcPlan> ReadLgcPlan(absl::string_view bytes) {
  Reader reader(bytes);
  LgcPlan plan;
  PS_ASSIGN_OR_RETURN(const uint32_t sends_code, reader.TakeU32());
  PS_ASSIGN_OR_RETURN(plan.version, reader.TakeU32());
  plan.sends_code = sends_code == 1;
  plan.encoder = std::string(reader.rest());
  const size_t size = NumEncoderParameters() * sizeof(float);
  if (sends_code > 1 ||
      (!plan.encoder.empty() && plan.encoder.size() != size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a plan of kind ", sends_code, " with an encoder of ",
                     plan.encoder.size(), " bytes; must be ", size));
  }
  return plan;
}

}  // namespace ps
