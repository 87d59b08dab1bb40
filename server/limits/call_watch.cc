#include "server/limits/call_watch.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/json.h"
#include "grpc/grpc.h"
#include "grpc/support/alloc.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

constexpr absl::Duration kLeastInterval = absl::Milliseconds(100);
constexpr int kShareOfTime = 50;

// Parses a text of channelz and frees it. Returns an empty object for null.
Json Parsed(char* text) {
  const std::unique_ptr<char, void (*)(void*)> owner(text, gpr_free);
  if (text == nullptr) return Json::object();
  Json json = ParseJson(text);
  return json.is_object() ? std::move(json) : Json::object();
}

// Returns a number: channelz writes 64-bit numbers as text, and omits 0.
int64_t Number(const Json& object, const char* name) {
  int64_t number = 0;
  const auto found = object.find(name);
  if (found != object.end() && found->is_string()) {
    (void)absl::SimpleAtoi(found->get_ref<const std::string&>(), &number);
  }
  return number;
}

const Json& Field(const Json& object, const char* name) {
  static const Json* const nothing = new Json(Json::object());
  const auto found = object.find(name);
  return found == object.end() || !found->is_object() ? *nothing : *found;
}

// Calls each(id) for the entries of all pages of a list.
void ForEach(const std::function<char*(int64_t from)>& page, const char* list,
             const char* reference, const char* id,
             const std::function<void(int64_t)>& each) {
  for (int64_t from = 0;;) {
    const Json json = Parsed(page(from));
    const auto entries = json.find(list);
    if (entries == json.end() || !entries->is_array()) return;
    for (const Json& entry : *entries) {
      const int64_t number =
          Number(reference == nullptr ? entry : Field(entry, reference), id);
      each(number);
      from = std::max(from, number + 1);
    }
    if (entries->empty() || json.value("end", false)) return;
  }
}

}  // namespace

CallWatch::CallWatch(int max_calls,
                     std::function<void(const std::string& peer)> exceeded)
    : max_calls_(max_calls),
      exceeded_(std::move(exceeded)),
      thread_("call watch", [this] { Loop(); }) {}

CallWatch::~CallWatch() {
  {
    MutexLock lock(&mu_);
    stop_ = true;
    stop_changed_.SignalAll();
  }
  thread_.Join();
}

void CallWatch::Loop() {
  // The number of calls begun by each socket, at the last look and at this one.
  absl::flat_hash_map<int64_t, int64_t> had_begun, have_begun;
  const auto check_socket = [&](int64_t id) {
    const Json socket = Parsed(grpc_channelz_get_socket(id));
    const Json& data = Field(Field(socket, "socket"), "data");
    have_begun[id] = Number(data, "streamsStarted");
    const auto before = had_begun.find(id);
    if (before == had_begun.end()) return;
    const int64_t calls = before->second - Number(data, "streamsSucceeded") -
                          Number(data, "streamsFailed");
    if (calls <= max_calls_) return;
    const Json& reference = Field(Field(socket, "socket"), "ref");
    const std::string name = reference.value("name", "");
    exceeded_(std::string(absl::StripPrefix(name, "chttp2 ")));
  };
  const auto check_server = [&](int64_t id) {
    ForEach(
        [id](int64_t from) {
          return grpc_channelz_get_server_sockets(id, from, 0);
        },
        "socketRef", nullptr, "socketId", check_socket);
  };
  absl::Duration interval = kLeastInterval;
  for (;;) {
    {
      MutexLock lock(&mu_);
      // It may wake earlier, which does no harm.
      if (!stop_) stop_changed_.WaitFor(&mu_, interval);
      if (stop_) return;
    }
    const absl::Time start = SteadyClock()->Now();
    ForEach([](int64_t from) { return grpc_channelz_get_servers(from); },
            "server", "ref", "serverId", check_server);
    had_begun = std::exchange(have_begun, {});
    interval =
        std::max(kLeastInterval, kShareOfTime * (SteadyClock()->Now() - start));
  }
}

}  // namespace ps
