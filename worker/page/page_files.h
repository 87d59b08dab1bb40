// The files that a browser loads for the page, beside those of
// monitoring/plots.
#ifndef WORKER_PAGE_PAGE_FILES_H_
#define WORKER_PAGE_PAGE_FILES_H_

namespace ps {

extern const char kPageHtml[];
extern const char kPageCss[];
extern const char kPageJs[];

}  // namespace ps

#endif  // WORKER_PAGE_PAGE_FILES_H_
