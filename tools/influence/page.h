// What an influence command has found, as a page with pictures.
#ifndef TOOLS_INFLUENCE_PAGE_H_
#define TOOLS_INFLUENCE_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "tools/influence/result.h"

namespace ps {

// A self-contained HTML file, which asks for nothing from elsewhere. Errors:
// those of reading the examples.
absl::StatusOr<std::string> InfluencePage(const InfluenceResult& result,
                                          const DatasetPair& data);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_PAGE_H_
