#include "host.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "api/service.h"
#include "base/clock.h"
#include "base/pump.h"
#include "base/random.h"
#include "base/seal.h"
#include "http/server.h"
#include "http/test_client.h"
#include "kv/memory_engine.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"
#include "ops/context.h"
#include "server/chores.h"
#include "server/clock_control.h"
#include "server/management.h"
#include "server/metrics.h"
#include "server/product_chores.h"
#include "server/store_secret.h"
#include "shared_host.h"
#include "table/store.h"

namespace stator::scripts {
namespace {

constexpr int kWorkers = 2;
constexpr size_t kMaxQueued = 256;
constexpr int64_t kTtlInterval = 1'000'000;

// The layers between an engine and the API, in the order of server/serve.cc. Its use of the clock
// is repeatable.
class Stack {
 public:
  static Result<std::unique_ptr<Stack>> Open(kv::Engine& engine, ManualClock& clock) {
    std::unique_ptr<Stack> stack(new Stack(clock));
    ASSIGN_OR_RETURN(stack->store_, table::Store::Open(engine, clock, stack->workers_));
    stack->environment_.reset(
        new ops::Environment{*stack->store_, clock, stack->random_, stack->workers_, {}});
    ASSIGN_OR_RETURN(const std::string secret, server::StoreSecret(engine));
    stack->environment_->seal = Seal(secret);
    api::Registry registry;
    api::RegisterAll(&registry);
    stack->service_ = std::make_unique<api::Service>(*stack->environment_, std::move(registry),
                                                     std::make_unique<api::ShapeAuthenticator>());
    stack->heat_ = std::make_unique<server::HeatHistories>(*stack->environment_, true);
    stack->management_ = std::make_unique<server::Management>(
        *stack->environment_, stack->metrics_, stack->clock_control_, *stack->heat_,
        [] { return http::ServerState(); }, server::Management::Options{"script", "", 0});
    server::AddProductChores(*stack->environment_, stack->metrics_, *stack->heat_, kTtlInterval, {},
                             &stack->chores_);
    stack->chores_.Start();
    return stack;
  }
  ~Stack() {
    StopBackground();
    management_->Stop();
    workers_.Stop();
  }

  api::Service& service() { return *service_; }
  server::Management& management() { return *management_; }
  server::ClockControl& clock_control() { return clock_control_; }
  // Must be called before an engine that is destroyed first.
  void StopBackground() {
    chores_.Stop();
    store_->Stop();
  }

 private:
  explicit Stack(ManualClock& clock)
      : workers_(kWorkers, kMaxQueued), chores_(clock), clock_control_(clock, &clock, chores_) {}

  SeededRandom random_{20120810};
  WorkerPool workers_;
  server::Chores chores_;
  server::ClockControl clock_control_;
  server::Metrics metrics_{[](std::string_view) { return true; }};
  std::unique_ptr<server::Management> management_;
  std::unique_ptr<table::Store> store_;
  std::unique_ptr<ops::Environment> environment_;
  std::unique_ptr<server::HeatHistories> heat_;
  std::unique_ptr<api::Service> service_;
};

api::Incoming IncomingOf(std::string_view method, std::string_view target, std::string_view body) {
  api::Incoming incoming;
  incoming.method = method;
  incoming.target = target;
  incoming.body = body;
  return incoming;
}

Answer AskService(api::Service& service, const Question& question) {
  std::string body = question.body;
  body.append(api::kBodyPadding, ' ');
  api::Incoming incoming = IncomingOf(question.method, question.target,
                                      std::string_view(body).substr(0, question.body.size()));
  for (const auto& [name, value] : question.headers) incoming.headers.Add(name, value);
  Pump pump;
  std::optional<Answer> answer;
  service.Handle(incoming, pump, [&answer](api::Outgoing outgoing) {
    answer.emplace();
    answer->status = outgoing.status;
    for (auto& [name, value] : outgoing.headers)
      answer->headers.emplace_back(name, std::move(value));
    answer->body = std::move(outgoing.body);
  });
  pump.RunUntil([&answer] { return answer.has_value(); });
  return std::move(*answer);
}

std::string AdvanceBody(std::string_view duration) {
  return fmt::format(R"({{"advance": "{}"}})", duration);
}

class MemoryHost final : public Host {
 public:
  Answer Ask(const Question& question) override { return AskService(stack_->service(), question); }
  // The engine stays: it is the data.
  Status Reopen() override {
    stack_.reset();
    ASSIGN_OR_RETURN(stack_, Stack::Open(engine_, clock_));
    return OkStatus();
  }
  Status Advance(std::string_view duration) override {
    return stack_->clock_control().Move(AdvanceBody(duration));
  }

 private:
  ManualClock clock_;
  kv::MemoryEngine engine_;
  std::unique_ptr<Stack> stack_;
};

class RocksHost final : public Host {
 public:
  ~RocksHost() override { CloseEngine(); }
  Answer Ask(const Question& question) override { return AskService(stack_->service(), question); }
  Status Reopen() override {
    CloseEngine();
    stack_.reset();
    kv_rocks::RocksOptions options;
    options.path = directory_.store();
    options.memory_budget_bytes = 32ull << 20;
    ASSIGN_OR_RETURN(engine_, kv_rocks::OpenRocks(options));
    ASSIGN_OR_RETURN(stack_, Stack::Open(*engine_, clock_));
    return OkStatus();
  }
  Status Advance(std::string_view duration) override {
    return stack_->clock_control().Move(AdvanceBody(duration));
  }

 private:
  // The engine is destroyed before the store, so that its queued callbacks still find the store.
  void CloseEngine() {
    if (stack_ != nullptr) stack_->StopBackground();
    engine_.reset();
  }

  ManualClock clock_;
  kv_rocks::TemporaryDirectory directory_;
  std::unique_ptr<Stack> stack_;
  std::unique_ptr<kv::Engine> engine_;
};

class HttpHost final : public Host {
 public:
  ~HttpHost() override { Close(); }

  Answer Ask(const Question& question) override {
    std::string bytes = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n",
                                    question.method, question.target, question.body.size());
    for (const auto& [name, value] : question.headers)
      bytes += fmt::format("{}: {}\r\n", name, value);
    bytes += "\r\n" + question.body;
    http::ClientReply reply = Exchange(bytes);
    // The server may have closed the connection after the last reply.
    if (reply.status == 0) reply = Exchange(bytes);
    Answer answer{reply.status, {}, std::move(reply.body)};
    std::string_view head = reply.head;
    while (!head.empty()) {
      const std::string_view line = head.substr(0, head.find("\r\n"));
      head.remove_prefix(std::min(head.size(), line.size() + 2));
      const size_t colon = line.find(": ");
      if (colon != std::string_view::npos)
        answer.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    }
    return answer;
  }

  Status Reopen() override {
    Close();
    ASSIGN_OR_RETURN(stack_, Stack::Open(engine_, clock_));
    http::ServerOptions options;
    options.hosts = {"127.0.0.1"};
    options.port = 0;
    ASSIGN_OR_RETURN(server_, http::Server::Listen(options, http::Refusals(), system_clock_));
    server_->Start([this](Executor& loop) -> http::Handler {
      return [this, &loop](std::unique_ptr<http::Exchange> exchange) {
        Serve(std::move(exchange), loop);
      };
    });
    return OkStatus();
  }
  Status Advance(std::string_view duration) override {
    Question question;
    question.target = "/_stator/clock";
    question.headers = {{"X-Stator-Management", "true"}};
    question.body = AdvanceBody(duration);
    const Answer answer = Ask(question);
    if (answer.status == 200) return OkStatus();
    return ValidationError(
        fmt::format("the clock was not moved: {} {}", answer.status, answer.body));
  }

 private:
  http::ClientReply Exchange(const std::string& bytes) {
    if (!client_) client_ = std::make_unique<http::TestClient>(server_->port());
    http::ClientReply reply = client_->Ask(bytes);
    if (reply.status == 0 || reply.head.find("Connection: close") != std::string::npos)
      client_.reset();
    return reply;
  }

  void Serve(std::unique_ptr<http::Exchange> exchange, Executor& loop) {
    const http::Request& request = exchange->request();
    if (server::Management::Owns(request.target)) {
      stack_->management().Handle(std::move(exchange));
      return;
    }
    api::Incoming incoming = IncomingOf(request.method, request.target, request.body);
    for (const http::Header& header : request.headers)
      incoming.headers.Add(header.name, header.value);
    stack_->service().Handle(incoming, loop,
                             [exchange = std::move(exchange)](api::Outgoing outgoing) {
                               http::Reply reply;
                               reply.status = outgoing.status;
                               reply.headers = std::move(outgoing.headers);
                               reply.body = std::move(outgoing.body);
                               exchange->Send(std::move(reply));
                             });
  }

  void Close() {
    client_.reset();
    if (server_) server_->Drain(1'000'000);
    stack_.reset();
    server_.reset();
  }

  ManualClock clock_;
  SystemClock system_clock_;  // for the server's time-outs
  kv::MemoryEngine engine_;
  std::unique_ptr<Stack> stack_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::TestClient> client_;
};

}  // namespace

Result<std::unique_ptr<Host>> OpenHost(std::string_view where) {
  std::unique_ptr<Host> host;
  if (where == "memory") host = std::make_unique<MemoryHost>();
  if (where == "rocksdb") host = std::make_unique<RocksHost>();
  if (where == "http") host = std::make_unique<HttpHost>();
  if (where == "shared") host = MakeSharedMemoryHost();
  if (where == "rados") {
    const char* conf = std::getenv("STATOR_CEPH_CONF");
    if (conf == nullptr)
      return ValidationError("STATOR_CEPH_CONF is not set: run ./dev cluster-test");
    host = MakeRadosHost(conf);
  }
  if (!host) return ValidationError(fmt::format("there is no configuration {}", where));
  TRY(host->Reopen());
  return host;
}

}  // namespace stator::scripts
