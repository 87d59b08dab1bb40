#include "tools/bench/network/text_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

size_t Width(const std::string& cell) {
  return static_cast<size_t>(
      std::count_if(cell.begin(), cell.end(), [](char c) {
        // All bytes of a character but the first begin with the bits 10.
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
      }));
}

}  // namespace

std::string FormatTextTable(const TextTable& table) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : table) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], Width(row[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : table) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - Width(row[i]), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", i == 0 ? row[i] : pad,
                      i == 0 ? pad : row[i]);
    }
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace ps
