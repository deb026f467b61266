#include "http/server.h"

#include <http_parser.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "http/acceptor.h"
#include "http/connection.h"
#include "http/loop.h"

namespace stator::http {
namespace {

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// http_parser has a limit of its own for all parsers of the process; ours is checked by Connection.
// It only ever rises.
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
  ServerImpl(std::unique_ptr<Shared> shared, std::vector<UniqueFd> sockets, uint16_t port,
             std::vector<std::unique_ptr<Loop>> loops)
      : shared_(std::move(shared)), port_(port), loops_(std::move(loops)) {
    std::vector<Loop*> targets;
    for (const std::unique_ptr<Loop>& loop : loops_) targets.push_back(loop.get());
    acceptor_ = std::make_unique<Acceptor>(std::move(sockets), std::move(targets));
  }

  ~ServerImpl() override { Drain(0); }

  uint16_t port() const override { return port_; }
  int connections() const override { return shared_->connections.load(std::memory_order_relaxed); }

  Status StartAcceptor() { return acceptor_->Start(); }

  void Start(FunctionRef<Handler(Executor& loop)> make_handler) override {
    for (const std::unique_ptr<Loop>& loop : loops_) loop->SetHandler(make_handler(*loop));
    running_ = static_cast<int>(loops_.size());
    for (const std::unique_ptr<Loop>& loop : loops_) {
      threads_.emplace_back([this, loop = loop.get()] {
        loop->Run();
        MutexLock lock(mutex_);
        --running_;
        ended_.notify_all();
      });
    }
  }

  void Drain(int64_t deadline_micros) override NO_THREAD_SAFETY_ANALYSIS {
    if (threads_.empty()) {
      acceptor_->Stop();
      return;
    }
    // First the acceptor's loop, so that whatever it dealt out is in the other loops' queues before
    // they are told.
    loops_.front()->Post([this] {
      acceptor_->Stop();
      loops_.front()->BeginDrain();
      for (size_t i = 1; i < loops_.size(); ++i) {
        loops_[i]->Post([loop = loops_[i].get()] { loop->BeginDrain(); });
      }
    });
    {
      std::unique_lock<Mutex> lock(mutex_);
      ended_.wait_for(lock, std::chrono::microseconds(deadline_micros),
                      [this] { return running_ == 0; });
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
  const uint16_t port_;
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
  uint16_t port = options.port;
  ASSIGN_OR_RETURN(std::vector<UniqueFd> sockets, ListenOn(options.hosts, &port));
  const int threads = std::max(1, options.threads);
  auto shared = std::make_unique<Shared>(std::move(options), std::move(refusals), clock);
  std::vector<std::unique_ptr<Loop>> loops;
  for (int i = 0; i < threads; ++i) {
    loops.push_back(std::make_unique<Loop>(*shared));
    TRY(loops.back()->Open());
  }
  auto server =
      std::make_unique<ServerImpl>(std::move(shared), std::move(sockets), port, std::move(loops));
  TRY(server->StartAcceptor());
  return Result<std::unique_ptr<Server>>(std::move(server));
}

}  // namespace stator::http
