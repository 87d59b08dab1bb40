// The files that a browser loads for the page.
#ifndef WORKER_PAGE_PAGE_FILES_H_
#define WORKER_PAGE_PAGE_FILES_H_

namespace ps {

extern const char kPageHtml[];
extern const char kPageCss[];
extern const char kPageJs[];
// The file of third_party/uplot.
extern const char kPlotJs[];
extern const char kPlotCss[];

}  // namespace ps

#endif  // WORKER_PAGE_PAGE_FILES_H_
