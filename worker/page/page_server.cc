#include "worker/page/page_server.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/host_and_port.h"
#include "common/status_macros.h"
#include "security/credentials.h"
#include "transport/grpc_server_channel.h"
#include "worker/page/page_files.h"

namespace ps {
namespace {

// A worker that is killed may be back within half a second.
constexpr absl::Duration kAskEvery = absl::Milliseconds(200);
// Of a server's answer about its state.
constexpr int64_t kMaxMessageBytes = 1 << 20;
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
      {"/uplot.css", "text/css; charset=utf-8", text(kPlotCss)},
      {"/uplot.js", "text/javascript; charset=utf-8", text(kPlotJs)},
      {"/state", "application/json", [&page] { return page.State(); }},
  };
}

absl::StatusOr<std::vector<std::unique_ptr<ServerChannel>>> ChannelsTo(
    const JobConfig& config) {
  CredentialsOptions options;
  options.config = &config;
  options.self = {config.name(), Role::kWorker, 0};
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<const Credentials> credentials,
                      Credentials::Create(options));
  std::vector<std::unique_ptr<ServerChannel>> channels;
  for (int i = 0; i < config.cluster().servers_size(); ++i) {
    ServerChannelOptions channel;
    channel.address = config.cluster().servers(i);
    channel.credentials = credentials->ForServer(i);
    channel.max_message_bytes = kMaxMessageBytes;
    channels.push_back(NewGrpcServerChannel(channel));
  }
  return channels;
}

}  // namespace

PageServer::PageServer(const PageServerOptions& options)
    : page_({options.config->cluster().servers().begin(),
             options.config->cluster().servers().end()},
            options.run_directory) {}

absl::StatusOr<std::unique_ptr<PageServer>> PageServer::Start(
    const PageServerOptions& options) {
  PS_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<ServerChannel>> channels,
                      ChannelsTo(*options.config));
  std::unique_ptr<PageServer> server(new PageServer(options));
  HttpServerOptions http;
  http.subject = "the page";
  http.address = options.address;
  http.pages = PagesOf(server->page_);
  http.threads = kThreads;
  PS_ASSIGN_OR_RETURN(server->server_, HttpServer::Start(std::move(http)));
  const HostAndPort address = SplitHostAndPort(options.address);
  server->url_ = absl::StrCat("http://",
                              address.host.find(':') == std::string::npos
                                  ? address.host
                                  : absl::StrCat("[", address.host, "]"),
                              ":", server->server_->port(), "/");
  server->watch_ = std::make_unique<ClusterWatch>(
      std::move(channels), kAskEvery,
      [page = &server->page_](int index, const ServerReport& report) {
        page->Heard(index, report);
      });
  return server;
}

}  // namespace ps
