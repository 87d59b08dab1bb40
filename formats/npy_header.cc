#include "formats/npy_header.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace ps {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
// An array of numbers needs about a hundred bytes; NumPy reads ten thousand.
constexpr int64_t kMaxTextBytes = 65536;
// The most that an error message quotes from a damaged file.
constexpr size_t kMaxQuotedBytes = 40;

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, kMaxQuotedBytes)),
                      text.size() > kMaxQuotedBytes ? "..." : "", "\"");
}

// Parses the subset of Python's literals that a header uses.
class Parser {
 public:
  explicit Parser(absl::string_view text) : rest_(text) {}

  bool Accept(char c) {
    SkipSpaces();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  absl::Status Expect(char c, absl::string_view where) {
    if (Accept(c)) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("expected '", std::string(1, c),
                                            "' ", where, ", found ",
                                            Quoted(rest_)));
  }

  // Escapes are not supported; no key and no type has them.
  absl::StatusOr<std::string> String(absl::string_view what) {
    SkipSpaces();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1)
                                                     : absl::string_view::npos;
    if (end == absl::string_view::npos) {
      return absl::DataLossError(
          absl::StrCat(what, " must be a string, found ", Quoted(rest_)));
    }
    std::string value(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return value;
  }

  absl::StatusOr<bool> Bool(absl::string_view what) {
    const std::string word = Word();
    if (word == "True") return true;
    if (word == "False") return false;
    return absl::DataLossError(
        absl::StrCat(what, " must be True or False, found ", Quoted(word)));
  }

  absl::StatusOr<int64_t> Extent() {
    std::string word = Word();
    // Python 2 wrote long integers as "3L".
    if (word.size() > 1 && word.back() == 'L') word.pop_back();
    int64_t value = 0;
    if (!absl::SimpleAtoi(word, &value) || value < 0) {
      return absl::DataLossError(
          absl::StrCat("'shape' holds ", Quoted(word),
                       "; must be integers from 0 to 2^63-1"));
    }
    return value;
  }

  absl::string_view rest() {
    SkipSpaces();
    return rest_;
  }

 private:
  void SkipSpaces() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  std::string Word() {
    SkipSpaces();
    size_t end = 0;
    while (end < rest_.size() &&
           (absl::ascii_isalnum(rest_[end]) || rest_[end] == '-' ||
            rest_[end] == '+' || rest_[end] == '.')) {
      ++end;
    }
    const std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return word;
  }

  absl::string_view rest_;
};

absl::StatusOr<std::vector<int64_t>> ParseShape(Parser* parser) {
  PS_RETURN_IF_ERROR(parser->Expect('(', "to begin 'shape'"));
  std::vector<int64_t> shape;
  while (!parser->Accept(')')) {
    PS_ASSIGN_OR_RETURN(const int64_t extent, parser->Extent());
    shape.push_back(extent);
    if (parser->Accept(',')) continue;
    PS_RETURN_IF_ERROR(parser->Expect(')', "to end 'shape'"));
    break;
  }
  return shape;
}

absl::Status ParseValue(const std::string& key, Parser* parser,
                        NpyHeader* header) {
  if (key == "descr") {
    if (absl::StartsWith(parser->rest(), "[")) {
      return absl::UnimplementedError(
          "the elements are records ('descr' is a list); only plain numbers "
          "are read");
    }
    PS_ASSIGN_OR_RETURN(header->descr, parser->String("'descr'"));
    return absl::OkStatus();
  }
  if (key == "fortran_order") {
    PS_ASSIGN_OR_RETURN(header->fortran_order, parser->Bool("'fortran_order'"));
    return absl::OkStatus();
  }
  if (key == "shape") {
    PS_ASSIGN_OR_RETURN(header->shape, ParseShape(parser));
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("unknown key ", Quoted(key),
                   "; a header has 'descr', 'fortran_order' and 'shape'"));
}

}  // namespace

absl::StatusOr<NpyTextRange> ParseNpyPreamble(absl::string_view bytes) {
  const absl::string_view magic(kMagic, kMagicBytes);
  if (bytes.substr(0, kMagicBytes) != magic) {
    return absl::DataLossError(absl::StrCat(
        "not a .npy file: it begins with ",
        Quoted(bytes.substr(0, kMagicBytes)), ", not with ", Quoted(magic)));
  }
  if (bytes.size() < kMagicBytes + 2) {
    return absl::DataLossError("the file ends before the format's version");
  }
  const auto byte = [bytes](size_t i) {
    return static_cast<uint8_t>(bytes[i]);
  };
  const int major = byte(kMagicBytes);
  const int minor = byte(kMagicBytes + 1);
  if (major < 1 || major > 3 || minor != 0) {
    return absl::DataLossError(absl::StrCat("the format's version is ", major,
                                            ".", minor,
                                            "; must be 1.0, 2.0 or 3.0"));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  NpyTextRange range;
  range.begin = static_cast<int64_t>(kMagicBytes + 2 + length_bytes);
  if (bytes.size() < static_cast<size_t>(range.begin)) {
    return absl::DataLossError("the file ends before the header's length");
  }
  int64_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= int64_t{byte(kMagicBytes + 2 + i)} << (8 * i);
  }
  if (length > kMaxTextBytes) {
    return absl::DataLossError(absl::StrCat("the header's length is ", length,
                                            " bytes; must be at most ",
                                            kMaxTextBytes));
  }
  range.end = range.begin + length;
  return range;
}

absl::StatusOr<NpyHeader> ParseNpyText(absl::string_view text) {
  NpyHeader header;
  std::set<std::string> keys;
  Parser parser(text);
  PS_RETURN_IF_ERROR(parser.Expect('{', "to begin the header"));
  while (!parser.Accept('}')) {
    PS_ASSIGN_OR_RETURN(const std::string key, parser.String("a header's key"));
    if (!keys.insert(key).second) {
      return absl::DataLossError(
          absl::StrCat("the header has ", Quoted(key), " twice"));
    }
    PS_RETURN_IF_ERROR(parser.Expect(':', absl::StrCat("after ", Quoted(key))));
    PS_RETURN_IF_ERROR(ParseValue(key, &parser, &header));
    if (parser.Accept(',')) continue;
    PS_RETURN_IF_ERROR(parser.Expect('}', "to end the header"));
    break;
  }
  for (const char* key : {"descr", "fortran_order", "shape"}) {
    if (keys.count(key) == 0) {
      return absl::DataLossError(absl::StrCat("the header has no '", key, "'"));
    }
  }
  if (!parser.rest().empty()) {
    return absl::DataLossError(
        absl::StrCat("after the header comes ", Quoted(parser.rest())));
  }
  return header;
}

std::string NpyHeaderBytes(const NpyHeader& header) {
  std::string text = absl::StrCat(
      "{'descr': '", header.descr,
      "', 'fortran_order': ", header.fortran_order ? "True" : "False",
      ", 'shape': (", absl::StrJoin(header.shape, ", "),
      header.shape.size() == 1 ? ",), }" : "), }");
  constexpr size_t kPreambleBytes = kMagicBytes + 4;
  constexpr size_t kTextBytes = kNpyHeaderBytes - kPreambleBytes;
  // Two dimensions of 19 digits leave 20 bytes free.
  text.resize(kTextBytes - 1, ' ');
  text += '\n';
  std::string bytes(kMagic, kMagicBytes);
  bytes += {'\x01', '\x00', static_cast<char>(kTextBytes), '\x00'};
  return bytes + text;
}

}  // namespace ps
