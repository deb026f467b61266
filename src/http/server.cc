#include "http/server.h"

#include <http_parser.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "base/mutex_wait.h"
#include "http/acceptor.h"
#include "http/connection.h"
#include "http/loop.h"
#include "http/tls_keeper.h"

namespace stator::http {
namespace {

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Raises http_parser's own limit on the size of headers to at least `bytes`. That limit is global
// to the process and never lowered; Connection checks the limit of each server.
void RaiseParserLimit(size_t bytes) {
  static Mutex mutex;
  static size_t limit = HTTP_MAX_HEADER_SIZE;
  MutexLock lock(mutex);
  if (bytes <= limit) return;
  limit = std::min<size_t>(bytes, INT32_MAX);
  http_parser_set_max_header_size(static_cast<uint32_t>(limit));
}

class ServerImpl final : public Server {
 public:
  ServerImpl(std::unique_ptr<Shared> shared, std::vector<Listening> sockets,
             std::vector<uint16_t> ports, std::vector<std::unique_ptr<Loop>> loops)
      : shared_(std::move(shared)), ports_(std::move(ports)), loops_(std::move(loops)) {
    std::vector<Loop*> targets;
    for (const std::unique_ptr<Loop>& loop : loops_) targets.push_back(loop.get());
    acceptor_ = std::make_unique<Acceptor>(std::move(sockets), std::move(targets));
  }

  ~ServerImpl() override { Drain(0); }

  uint16_t port(size_t listener) const override { return ports_.at(listener); }
  int connections() const override { return shared_->connections.load(std::memory_order_relaxed); }

  ServerState state() const override {
    ServerState state;
    state.connections = connections();
    state.max_connections = shared_->options.max_connections;
    state.refused_connections = shared_->refused_connections.load(std::memory_order_relaxed);
    state.inflight_bytes = shared_->memory.held();
    state.max_inflight_bytes = shared_->memory.limit();
    state.refused_requests = shared_->memory.refusals();
    state.slow_clients = shared_->slow_clients.load(std::memory_order_relaxed);
    state.handshakes = shared_->handshakes.load(std::memory_order_relaxed);
    state.failed_handshakes = shared_->failed_handshakes.load(std::memory_order_relaxed);
    state.crowded_out_handshakes = shared_->crowded_out_handshakes.load(std::memory_order_relaxed);
    if (const TlsKeeper* tls = shared_->options.tls.get(); tls != nullptr)
      state.certificate_expires_seconds = tls->current()->expires_seconds();
    return state;
  }

  Status StartAcceptor() { return acceptor_->Start(); }

  void Start(FunctionRef<Handler(Executor& loop)> make_handler) override {
    for (const std::unique_ptr<Loop>& loop : loops_) loop->SetHandler(make_handler(*loop));
    {
      const MutexLock lock(mutex_);
      running_ = static_cast<int>(loops_.size());
    }
    for (const std::unique_ptr<Loop>& loop : loops_) {
      threads_.emplace_back([this, loop = loop.get()] {
        loop->Run();
        MutexLock lock(mutex_);
        --running_;
        ended_.notify_all();
      });
    }
  }

  void CloseAfterReplies() override {
    for (const std::unique_ptr<Loop>& loop : loops_) {
      loop->Post([loop = loop.get()] { loop->CloseAfterReplies(); });
    }
  }

  void Drain(int64_t deadline_micros) override {
    if (threads_.empty()) {
      acceptor_->Stop();
      return;
    }
    // Begin with the acceptor's loop: then the connections that it has dealt out are in the other
    // loops' queues before these begin to drain.
    loops_.front()->Post([this] {
      acceptor_->Stop();
      loops_.front()->BeginDrain();
      for (size_t i = 1; i < loops_.size(); ++i) {
        loops_[i]->Post([loop = loops_[i].get()] { loop->BeginDrain(); });
      }
    });
    {
      UniqueMutexLock lock(mutex_);
      ended_.wait_for(lock, std::chrono::microseconds(deadline_micros),
                      [this]() REQUIRES(mutex_) { return running_ == 0; });
    }
    for (const std::unique_ptr<Loop>& loop : loops_) {
      loop->Post([loop = loop.get()] { loop->StopNow(); });
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    acceptor_->Stop();
  }

 private:
  std::unique_ptr<Shared> shared_;
  const std::vector<uint16_t> ports_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::unique_ptr<Acceptor> acceptor_;
  std::vector<std::thread> threads_;
  Mutex mutex_;
  std::condition_variable_any ended_;
  int running_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::Listen(ServerOptions options, Refusals refusals,
                                               const Clock& clock) {
  RaiseFileLimit();
  RaiseParserLimit(options.max_header_bytes + kBodyPadding);
  std::vector<ListenerOptions> listeners = {{options.hosts, options.port, options.secure}};
  listeners.insert(listeners.end(), options.more.begin(), options.more.end());
  std::vector<Listening> sockets;
  std::vector<uint16_t> ports;
  for (const ListenerOptions& listener : listeners) {
    if (listener.secure && options.tls == nullptr)
      return ValidationError("a listener is to speak TLS and has no certificate");
    uint16_t port = listener.port;
    ASSIGN_OR_RETURN(std::vector<UniqueFd> bound, ListenOn(listener.hosts, &port));
    const Door door{static_cast<int>(ports.size()), listener.secure};
    for (UniqueFd& fd : bound) sockets.push_back({std::move(fd), door});
    ports.push_back(port);
  }
  const int threads = std::max(1, options.threads);
  auto shared = std::make_unique<Shared>(std::move(options), std::move(refusals), clock);
  std::vector<std::unique_ptr<Loop>> loops;
  for (int i = 0; i < threads; ++i) {
    loops.push_back(std::make_unique<Loop>(*shared));
    TRY(loops.back()->Open());
  }
  auto server = std::make_unique<ServerImpl>(std::move(shared), std::move(sockets),
                                             std::move(ports), std::move(loops));
  TRY(server->StartAcceptor());
  return Result<std::unique_ptr<Server>>(std::move(server));
}

}  // namespace stator::http
