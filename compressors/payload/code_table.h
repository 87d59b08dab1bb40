// A table of index or value codes: writers of payloads look codes up by name,
// readers by wire number.
#ifndef COMPRESSORS_PAYLOAD_CODE_TABLE_H_
#define COMPRESSORS_PAYLOAD_CODE_TABLE_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/registry.h"
#include "glog/logging.h"

namespace ps {

// Codec has name() and number(). The table is filled before main and only read
// afterwards.
template <typename Codec>
class CodeTable {
 public:
  explicit CodeTable(std::string kind) : by_name_(std::move(kind)) {}

  // Adds a codec, which must live until the process ends. `meaning` describes
  // it in one line; empty for codes that no config chooses by name.
  bool Register(const Codec* codec, const std::string& meaning = "") {
    by_name_.Register(std::string(codec->name()), meaning, codec);
    const Codec*& entry = by_number_[static_cast<uint8_t>(codec->number())];
    CHECK(entry == nullptr)
        << codec->name() << " has the wire number of " << entry->name();
    entry = codec;
    return true;
  }

  // Returns the codec. Errors: kInvalidArgument, with the known names.
  absl::StatusOr<const Codec*> Find(const std::string& name) const {
    return by_name_.Find(name);
  }

  // Returns the codec of a wire number; null if there is none.
  const Codec* FindNumber(uint8_t number) const { return by_number_[number]; }

  std::vector<std::string> Names() const { return by_name_.Names(); }

  // Returns each name with its meaning, in alphabetical order.
  std::vector<std::pair<std::string, std::string>> List() const {
    return by_name_.List();
  }

  // Returns the codecs by wire number; null for a number without one.
  const std::array<const Codec*, 256>& by_number() const { return by_number_; }

 private:
  Registry<const Codec*> by_name_;
  std::array<const Codec*, 256> by_number_ = {};
};

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_CODE_TABLE_H_
