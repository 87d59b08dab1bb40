#include "compressors/adacomp/adacomp_reader.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/adacomp/adacomp_words.h"

namespace ps {
namespace {

absl::Status Refused(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("adacomp: ", what));
}

}  // namespace

absl::StatusOr<bool> AdaCompReader::Next(AdaCompElement* element) {
  for (;;) {
    if (bin_size_ > 0) {
      PS_ASSIGN_OR_RETURN(const bool found, NextOfBins(element));
      if (found) return true;
    } else if (next_ < positions_) {
      // ReadHead has checked that enough bytes remain.
      bytes_.Read(&element->value, sizeof(element->value));
      element->position = static_cast<uint32_t>(begin_ + next_++);
      return true;
    }
    begin_ += positions_;
    bin_size_ = 0;
    positions_ = next_ = 0;
    if (bytes_.remaining() > 0) {
      PS_RETURN_IF_ERROR(ReadHead());
      continue;
    }
    if (begin_ == dense_size_) return false;
    return Refused(absl::StrCat("segments of ", begin_,
                                " positions; there are ", dense_size_));
  }
}

absl::Status AdaCompReader::ReadHead() {
  uint16_t bin_size = 0;
  uint16_t first = 0;
  uint32_t positions = 0;
  if (!bytes_.Read(&bin_size, sizeof(bin_size)) ||
      !bytes_.Read(&first, sizeof(first)) ||
      !bytes_.Read(&positions, sizeof(positions))) {
    return Refused("a segment is cut short");
  }
  if (bin_size > kMaxAdaCompBinSize) {
    return Refused(absl::StrCat("bins of ", bin_size, " positions"));
  }
  if (first >= bin_size && first != 0) {
    return Refused(
        absl::StrCat("a segment begins at place ", first, " of ", bin_size));
  }
  if (positions == 0 || positions > dense_size_ - begin_) {
    return Refused(absl::StrCat("a segment of ", positions, " positions; ",
                                dense_size_ - begin_, " are left"));
  }
  bin_size_ = bin_size;
  positions_ = positions;
  if (bin_size > 0) {
    bin_begin_ = -int64_t{first};
    last_place_ = -1;
    escape_may_follow_ = true;
    return ReadScale();
  }
  if (positions_ > bytes_.remaining() / static_cast<int64_t>(sizeof(float))) {
    return Refused("fewer values than positions");
  }
  return absl::OkStatus();
}

absl::Status AdaCompReader::ReadScale() {
  uint32_t words = 0;
  if (!bytes_.Read(&words, sizeof(words)) ||
      !bytes_.Read(&scale_, sizeof(scale_))) {
    return Refused("a segment is cut short");
  }
  if (!std::isfinite(scale_) || std::signbit(scale_)) {
    return Refused(
        absl::StrCat("a scale is ", scale_, "; must be finite and at least 0"));
  }
  words_left_ = words;
  if (words_left_ > bytes_.remaining() / AdaCompWords(bin_size_).bytes()) {
    return Refused("fewer code words than a segment says");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> AdaCompReader::NextOfBins(AdaCompElement* element) {
  const AdaCompWords words(bin_size_);
  while (bin_begin_ < positions_) {
    PS_ASSIGN_OR_RETURN(const uint32_t word, ReadWord());
    if ((word & words.empty_bin()) == words.empty_bin()) {
      PS_RETURN_IF_ERROR(SkipEmptyBins(word));
      continue;
    }
    const int64_t place = word & words.places();
    const int64_t position = bin_begin_ + place;
    if (place >= bin_size_ || position < 0 || position >= positions_) {
      return Refused(absl::StrCat("place ", place, " of a bin of ", bin_size_,
                                  ", position ", position, " of ", positions_));
    }
    if (place <= last_place_) return Refused("places in a bin do not ascend");
    if (scale_ == 0) return Refused("an element at a scale of 0");
    last_place_ = place;
    if ((word & words.last()) != 0) {
      bin_begin_ += bin_size_;
      last_place_ = -1;
      escape_may_follow_ = true;
    }
    element->position = static_cast<uint32_t>(begin_ + position);
    element->value = (word & words.negative()) != 0 ? -scale_ : scale_;
    return true;
  }
  if (words_left_ > 0) return Refused("code words after the last bin");
  return false;
}

absl::Status AdaCompReader::SkipEmptyBins(uint32_t word) {
  const AdaCompWords words(bin_size_);
  if (last_place_ >= 0) return Refused("an empty bin after elements of it");
  int64_t run = 1;
  if ((word & words.negative()) != 0) {
    PS_ASSIGN_OR_RETURN(const uint32_t more, ReadWord());
    run += more;
  }
  // Each run has exactly one encoding: the longest runs come first, and a
  // single bin has a word of its own.
  if (!escape_may_follow_ || ((word & words.negative()) != 0 && run == 1)) {
    return Refused("empty bins in a longer form than needed");
  }
  escape_may_follow_ = run == words.longest_run();
  bin_begin_ += run * bin_size_;
  if (bin_begin_ - bin_size_ >= positions_) {
    return Refused("empty bins after the last bin");
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> AdaCompReader::ReadWord() {
  if (words_left_ == 0) return Refused("code words end inside of a segment");
  --words_left_;
  // ReadScale has checked that enough bytes remain.
  if (AdaCompWords(bin_size_).bytes() == 1) {
    uint8_t word = 0;
    bytes_.ReadByte(&word);
    return word;
  }
  uint16_t word = 0;
  bytes_.Read(&word, sizeof(word));
  return word;
}

}  // namespace ps
