#include "tools/report/text_table.h"

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

// The first column, and the columns [begin, end).
std::string FormatColumns(const TextTable& table,
                          const std::vector<size_t>& widths, size_t begin,
                          size_t end) {
  std::string text;
  for (const std::vector<std::string>& row : table) {
    absl::StrAppend(&text, row[0], std::string(widths[0] - Width(row[0]), ' '));
    for (size_t i = begin; i < end; ++i) {
      absl::StrAppend(&text, "  ", std::string(widths[i] - Width(row[i]), ' '),
                      row[i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string FormatTextTable(const TextTable& table, size_t max_width) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : table) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], Width(row[i]));
    }
  }
  std::string text;
  size_t begin = 1;
  do {
    size_t end = begin;
    for (size_t width = widths[0]; end < widths.size(); ++end) {
      width += 2 + widths[end];
      // At least one column, or there would be no end.
      if (max_width > 0 && width > max_width && end > begin) break;
    }
    absl::StrAppend(&text, text.empty() ? "" : "\n",
                    FormatColumns(table, widths, begin, end));
    begin = end;
  } while (begin < widths.size());
  return text;
}

}  // namespace ps
