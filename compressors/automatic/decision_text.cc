#include "compressors/automatic/decision_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace ps {
namespace {

std::string Milliseconds(double seconds) {
  return absl::StrFormat("%.3g", 1e3 * seconds);
}

// Returns "bucket 2" or "buckets 0-1, 3".
std::string Buckets(const std::vector<bool>& compressed, bool wanted) {
  std::vector<std::string> ranges;
  for (size_t begin = 0; begin < compressed.size(); ++begin) {
    if (compressed[begin] != wanted) continue;
    size_t last = begin;
    while (last + 1 < compressed.size() && compressed[last + 1] == wanted) {
      ++last;
    }
    ranges.push_back(last == begin ? absl::StrCat(begin)
                                   : absl::StrCat(begin, "-", last));
    begin = last;
  }
  const auto count = std::count(compressed.begin(), compressed.end(), wanted);
  return absl::StrCat(count == 1 ? "bucket " : "buckets ",
                      absl::StrJoin(ranges, ", "));
}

std::string What(const std::vector<bool>& compressed) {
  const auto count = std::count(compressed.begin(), compressed.end(), true);
  if (count == 0) return "sending everything dense";
  if (count == static_cast<int64_t>(compressed.size())) {
    return "compressing everything";
  }
  return absl::StrCat("compressing ", Buckets(compressed, true),
                      " and sending ", Buckets(compressed, false), " dense");
}

}  // namespace

std::string DescribeDecision(const CompressionDecision& decision,
                             int64_t iteration) {
  const auto count =
      std::count(decision.compressed.begin(), decision.compressed.end(), true);
  std::vector<std::string> others;
  if (count > 0) {
    others.push_back(
        absl::StrCat(Milliseconds(decision.dense_seconds), " dense"));
  }
  if (count < static_cast<int64_t>(decision.compressed.size())) {
    others.push_back(
        absl::StrCat(Milliseconds(decision.compressed_seconds), " compressed"));
  }
  return absl::StrCat(
      What(decision.compressed), " from iteration ", iteration,
      " on: ", Milliseconds(decision.seconds), " ms an iteration against ",
      absl::StrJoin(others, " and "), "; a megabyte more takes ",
      Milliseconds(1e6 * decision.seconds_per_byte), " ms");
}

}  // namespace ps
