// Tables for a terminal.
#ifndef TOOLS_BENCH_NETWORK_TEXT_TABLE_H_
#define TOOLS_BENCH_NETWORK_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace ps {

// Rows of cells, as many in each; the first row is the heading.
using TextTable = std::vector<std::vector<std::string>>;

// Columns as wide as their widest cell, two spaces apart; the first to the
// left, the others to the right. Characters of UTF-8 count as one.
std::string FormatTextTable(const TextTable& table);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_TEXT_TABLE_H_
