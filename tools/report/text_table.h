// Tables for a terminal.
#ifndef TOOLS_REPORT_TEXT_TABLE_H_
#define TOOLS_REPORT_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace ps {

// Rows with equally many cells; the first row is the heading.
using TextTable = std::vector<std::vector<std::string>>;

// Columns are as wide as their widest cell and two spaces apart. The first is
// aligned to the left, the others to the right. A UTF-8 character counts as
// one. If max_width is above 0, columns that would make lines wider follow in
// further tables, each of which begins with the first column again.
std::string FormatTextTable(const TextTable& table, size_t max_width = 0);

}  // namespace ps

#endif  // TOOLS_REPORT_TEXT_TABLE_H_
