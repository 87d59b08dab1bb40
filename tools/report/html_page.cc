#include "tools/report/html_page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "monitoring/plots/plot_files.h"
#include "tools/report/report_files.h"

namespace ps {
namespace {

std::string Scripts(const std::string& data) {
  if (data.empty()) return "";
  // "</script>" in a string would end the element, and "<!--" would keep its
  // end from being one.
  return absl::StrCat(
      "<div id='plots'></div>\n"
      "<noscript><p class='note'>The plots need JavaScript; the numbers above "
      "do not.</p></noscript>\n<script type='application/json' id='data'>",
      absl::StrReplaceAll(data, {{"<", "\\u003c"}}), "</script>\n<script>",
      kUplotJs, "</script>\n<script>", kPlotsJs, "</script>\n<script>",
      kReportJs, "</script>\n");
}

}  // namespace

std::string HtmlText(const HtmlPage& page) {
  const std::string heading = EscapeMarkup(page.heading);
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>\n"
      "<meta name='viewport' content='width=device-width'>\n"
      "<meta http-equiv='Content-Security-Policy' content=\"default-src "
      "'none'; img-src data:; style-src 'unsafe-inline'; script-src "
      "'unsafe-inline'\">\n<title>",
      heading, " – gradsieve ", page.command, "</title>\n<style>",
      page.data.empty() ? "" : kUplotCss, kPlotsCss, page.style,
      "</style></head>\n<body><h1>", heading, "</h1>\n", page.body,
      Scripts(page.data), "</body></html>\n");
}

std::string EscapeMarkup(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"},
                                    {"<", "&lt;"},
                                    {">", "&gt;"},
                                    {"\"", "&quot;"},
                                    {"'", "&#39;"}});
}

}  // namespace ps
