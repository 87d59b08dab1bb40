// A page in one file.
#ifndef TOOLS_REPORT_HTML_PAGE_H_
#define TOOLS_REPORT_HTML_PAGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ps {

struct HtmlPage {
  std::string heading;  // Text.
  std::string command;  // Of gradsieve: "report".
  std::string style;    // Beside that of monitoring/plots.
  std::string body;     // Markup, below the heading.
  // JSON for report.js, which appends plots to the body. Empty: the page has
  // neither plots nor a script.
  std::string data;
};

// A self-contained HTML file. It tells browsers to ask for nothing elsewhere,
// and nothing in `data` ends its script.
std::string HtmlText(const HtmlPage& page);

// Escapes text for an element or an attribute.
std::string EscapeMarkup(absl::string_view text);

}  // namespace ps

#endif  // TOOLS_REPORT_HTML_PAGE_H_
