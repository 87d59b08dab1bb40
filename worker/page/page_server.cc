#include "worker/page/page_server.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/host_and_port.h"
#include "common/status_macros.h"
#include "monitoring/plots/plot_files.h"
#include "transport/job_channels.h"
#include "worker/page/page_files.h"

namespace ps {
namespace {

// A killed worker may be back within half a second.
constexpr absl::Duration kAskEvery = absl::Milliseconds(200);
// A browser opens several connections, not all of which it uses.
constexpr int kThreads = 6;

std::vector<HttpPage> PagesOf(const LivePage& page) {
  const auto text = [](const char* bytes) {
    return [bytes] { return std::string(bytes); };
  };
  return {
      {"/", "text/html; charset=utf-8", text(kPageHtml)},
      {"/page.css", "text/css; charset=utf-8", text(kPageCss)},
      {"/page.js", "text/javascript; charset=utf-8", text(kPageJs)},
      {"/plots.css", "text/css; charset=utf-8", text(kPlotsCss)},
      {"/plots.js", "text/javascript; charset=utf-8", text(kPlotsJs)},
      {"/uplot.css", "text/css; charset=utf-8", text(kUplotCss)},
      {"/uplot.js", "text/javascript; charset=utf-8", text(kUplotJs)},
      {"/state", "application/json", [&page] { return page.State(); }},
  };
}

}  // namespace

PageServer::PageServer(const PageServerOptions& options)
    : page_({options.config->cluster().servers().begin(),
             options.config->cluster().servers().end()},
            options.run_directory) {}

absl::StatusOr<std::unique_ptr<PageServer>> PageServer::Start(
    const PageServerOptions& options) {
  PS_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<ServerChannel>> channels,
                      ChannelsToServers(*options.config, 0));
  std::unique_ptr<PageServer> server(new PageServer(options));
  HttpServerOptions http;
  http.subject = "the page";
  http.address = options.address;
  http.pages = PagesOf(server->page_);
  http.threads = kThreads;
  PS_ASSIGN_OR_RETURN(server->server_, HttpServer::Start(std::move(http)));
  const std::string address = WithOwnHost(options.address);
  server->url_ = absl::StrCat("http://", address.substr(0, address.rfind(':')),
                              ":", server->server_->port(), "/");
  server->watch_ = std::make_unique<ClusterWatch>(
      std::move(channels), kAskEvery,
      [page = &server->page_](int index, const ServerReport& report) {
        page->Heard(index, report);
      });
  return server;
}

}  // namespace ps
