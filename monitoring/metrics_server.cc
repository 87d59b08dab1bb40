#include "monitoring/metrics_server.h"

#include <iterator>

#include "common/status_macros.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"

namespace ps {

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, Sources sources) {
  HttpServerOptions options;
  options.subject = "metrics";
  options.address = address;
  options.pages = {
      {"/metrics", "text/plain; version=0.0.4; charset=utf-8",
       [sources = std::move(sources)] {
         std::vector<prometheus::MetricFamily> families;
         for (const auto& source : sources) {
           std::vector<prometheus::MetricFamily> more = source->Collect();
           std::move(more.begin(), more.end(), std::back_inserter(families));
         }
         return prometheus::TextSerializer().Serialize(families);
       }}};
  PS_ASSIGN_OR_RETURN(std::unique_ptr<HttpServer> server,
                      HttpServer::Start(std::move(options)));
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(server)));
}

}  // namespace ps
