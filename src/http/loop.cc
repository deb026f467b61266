#include "http/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "base/go_on_later.h"
#include "base/out_of_memory.h"
#include "http/connection.h"
#include "http/tls_keeper.h"

namespace stator::http {
namespace {

constexpr int kEventsPerWake = 256;
constexpr size_t kPooled = 64;
// Most replies are smaller: a buffer that grew beyond is not kept.
constexpr size_t kPooledOutputBytes = 64 * 1024;
// The maximum bytes, approximately, of the replies that wait to be sent together at the end of a
// round.
constexpr size_t kPutOffBytes = 256 * 1024;
constexpr int64_t kLingerMicros = 2'000'000;
constexpr int64_t kCloseStuckMicros = 100'000;
// While memory is short, a body that takes longer than this to arrive may be refused in favour of
// others.
constexpr int64_t kSlowBodyMicros = 2'000'000;
constexpr int64_t kRefuseSlowMicros = 20'000;
constexpr int64_t kShortestExtraMicros = 100'000;
// The shortest times after which an idle connection, and one with half a header, are closed on a
// full server.
constexpr int64_t kShortestIdleMicros = 10'000'000;
constexpr int64_t kShortestHeaderMicros = 1'000'000;
constexpr int64_t kNeverMicros = int64_t{1} << 60;
// A thread that posts more tasks than this is busy, so it does not run them itself (StandIn): its
// own work must not wait for the replies.
constexpr size_t kStandInTasks = 1;
// The longest sleep while a deadline is pending: a manual clock that moves does not wake the loop.
constexpr int64_t kTickMillis = 50;
// While a round of the loop is younger than this, a connection may run several pipelined requests
// in it; later only one. Otherwise 64 requests of 1 ms from each of 100 connections would delay the
// others for 6 s.
constexpr int64_t kPipelinedMicrosPerRound = 1000;
// Bodies up to this size take less than half a millisecond, whatever they hold.
constexpr size_t kShortBodyBytes = 2048;
// Steps of handshakes in a round. Each may cost an operation of a private key: 0.1 ms with P-256,
// 1 ms with RSA.
constexpr int kHandshakeStepsPerRound = 4;

}  // namespace

void UniqueFd::Reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Loop::Loop(Shared& shared) : shared_(shared) {
  const ServerOptions& options = shared.options;
  deadlines_[static_cast<int>(Deadline::kHeader)].length_micros = options.header_timeout_micros;
  // Rates are looked at this often; Connection::IsSlow judges.
  deadlines_[static_cast<int>(Deadline::kBody)].length_micros =
      options.body_timeout_micros / kLooksAtRate;
  // Without a timeout the list still tells which connection has been idle for longest.
  deadlines_[static_cast<int>(Deadline::kIdle)].length_micros =
      options.idle_timeout_micros > 0 ? options.idle_timeout_micros : kNeverMicros;
  deadlines_[static_cast<int>(Deadline::kWrite)].length_micros =
      options.write_timeout_micros / kLooksAtRate;
  deadlines_[static_cast<int>(Deadline::kLinger)].length_micros = kLingerMicros;
  deadlines_[static_cast<int>(Deadline::kExtra)].length_micros = kLingerMicros;
  deadlines_[static_cast<int>(Deadline::kHandshake)].length_micros =
      options.handshake_timeout_micros;
  now_ticks_ = shared.clock.TicksMicros();
}

Loop::~Loop() {
  {
    // Destroyed outside the lock: a task may hold an exchange, and an exchange may post.
    std::vector<UniqueFunction<void()>> left;
    {
      MutexLock lock(mutex_);
      left.swap(posted_);
    }
  }
  handler_ = nullptr;
  while (connections_ != nullptr) {  // the dead ones are still among them
    Connection* connection = connections_;
    Unlink(connection);
    delete connection;
  }
}

Status Loop::Open() {
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  wake_.Reset(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!epoll_.valid() || !wake_.valid())
    return InternalError(std::string("epoll: ") + strerror(errno));
  // With edge-triggering each write of the eventfd is an event, and its counter need not be read.
  return Watch(wake_.get(), EPOLLIN | EPOLLET, nullptr);
}

Status Loop::Watch(int fd, uint32_t events, EventSink* sink) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = sink;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return InternalError(std::string("epoll_ctl: ") + strerror(errno));
  return OkStatus();
}

void Loop::Unwatch(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

// A poster publishes its task, then looks whether the loop sleeps; the loop says that it will
// sleep, then looks for tasks. Both in sequentially consistent order, so one of them sees the
// other. While the loop runs, nothing is written.
void Loop::Post(UniqueFunction<void()> task) {
  {
    MutexLock lock(mutex_);
    posted_.push_back(std::move(task));
    has_posted_.store(true);
  }
  if (!WakeUps::PutOff(this)) WakeUp();
}

void Loop::WakeUp() {
  if (sleeping_.load() && sleeping_.exchange(false)) {
    const uint64_t one = 1;
    // It can fail only when the counter is full, and then the loop has been told often enough.
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  }
}

bool Loop::PostedFew() {
  MutexLock lock(mutex_);
  return posted_.size() <= kStandInTasks;
}

void Loop::RunTasks() {
  if (!has_posted_.load(std::memory_order_acquire)) return;
  {
    MutexLock lock(mutex_);
    running_.swap(posted_);
    has_posted_.store(false);
  }
  for (UniqueFunction<void()>& task : running_) {
    // The loop destroys the task here, whereby a request in it is answered.
    RunOrOutOfMemory("a task of a loop", task);
    task = nullptr;
  }
  running_.clear();
}

bool Loop::RoundIsOld() {
  const int64_t now = shared_.clock.TicksMicros();
  if (round_began_ticks_ < 0) round_began_ticks_ = now;
  return now - round_began_ticks_ >= kPipelinedMicrosPerRound;
}

bool Loop::HasTurns() const {
  return std::any_of(turns_.begin(), turns_.end(),
                     [](const auto& turns) { return !turns.empty(); });
}

bool Loop::TakesNow(Connection* connection, size_t body_bytes) {
  if (body_bytes <= kShortBodyBytes) return true;
  size_t of_class = 0;
  while (of_class + 1 < kBodyClasses && body_bytes > kShortBodyBytes << (2 * (of_class + 1)))
    ++of_class;
  if (turns_[of_class].empty() && !RoundIsOld()) return true;
  turns_[of_class].push_back(connection);
  return false;
}

// At least one a round.
void Loop::RunTurns() {
  while (HasTurns() && !RoundIsOld()) {
    std::deque<Connection*>& turns = turns_[next_turn_];
    next_turn_ = (next_turn_ + 1) % kBodyClasses;
    if (turns.empty()) continue;
    Connection* const connection = turns.front();
    turns.pop_front();
    connection->TakeTurn();
  }
}

void Loop::RunResumes() {
  put_off_bytes_ = 0;
  handshake_steps_left_ = kHandshakeStepsPerRound;
  if (resumes_.empty()) return;
  resuming_.swap(resumes_);
  for (Connection* connection : resuming_) connection->Resume();
  resuming_.clear();
}

void Loop::FreeDead() {
  if (dead_.empty()) return;
  size_t kept = 0;
  for (Connection* connection : dead_) {
    if (connection->queued()) {
      dead_[kept++] = connection;  // still to be resumed
    } else {
      Unlink(connection);
      delete connection;
    }
  }
  dead_.resize(kept);
}

int Loop::SleepMillis() const {
  if (!resumes_.empty() || !next_round_.empty() || HasTurns()) return 0;
  int64_t millis = -1;
  for (const List& list : deadlines_) {
    if (list.first == nullptr || list.length_micros == kNeverMicros) continue;
    const int64_t left =
        std::clamp<int64_t>((list.first->deadline_ticks_ - now_ticks_) / 1000 + 1, 1, kTickMillis);
    millis = millis < 0 ? left : std::min(millis, left);
  }
  return static_cast<int>(millis);
}

void Loop::Run() {
  current_ = this;
  const GoOnLater later(this, [](void* loop, UniqueFunction<void()>& task) {
    static_cast<Loop*>(loop)->Post(std::move(task));
    return true;
  });
  epoll_event events[kEventsPerWake];
  turn_.lock();
  while (true) {
    round_began_ticks_ = -1;
    RunTasks();
    resumes_.insert(resumes_.end(), next_round_.begin(), next_round_.end());
    next_round_.clear();
    RunTurns();
    RunResumes();
    FreeDead();
    // Requests of other loops may wait for a task of this one (GoOnLater).
    if (stopped_ || (draining_ && connections_ == nullptr && !has_posted_.load())) break;
    int timeout = sleep_millis_ = SleepMillis();
    if (timeout != 0) {
      sleeping_.store(true);
      if (has_posted_.load()) timeout = 0;
    }
    turn_.unlock();
    const int count = epoll_wait(epoll_.get(), events, kEventsPerWake, timeout);
    sleeping_.store(false, std::memory_order_relaxed);
    turn_.lock();
    now_ticks_ = shared_.clock.TicksMicros();
    for (int i = 0; i < count; ++i) {
      if (auto* sink = static_cast<EventSink*>(events[i].data.ptr); sink != nullptr)
        sink->OnEvents(events[i].events);
      if (put_off_bytes_ >= kPutOffBytes) RunResumes();
    }
    ExpireDeadlines();
  }
  // Run all remaining tasks: other threads may wait for latches that these tasks hold. No new
  // requests come.
  while (has_posted_.load()) RunTasks();
  turn_.unlock();
}

// Runs the loop's tasks on the calling thread while the loop's thread sleeps. It handles no events
// and destroys no connections: the loop's thread may have woken up with events of a connection that
// is closed here. A task that is posted meanwhile wakes the loop's thread as usual, which then
// waits for `turn_`.
void Loop::StandIn() {
  if (!sleeping_.load()) return;
  if (current_ != nullptr || !PostedFew()) return WakeUp();
  if (!turn_.try_lock()) return WakeUp();
  current_ = this;
  const GoOnLater later(this, [](void* loop, UniqueFunction<void()>& task) {
    static_cast<Loop*>(loop)->Post(std::move(task));
    return true;
  });
  now_ticks_ = shared_.clock.TicksMicros();
  round_began_ticks_ = -1;
  RunTasks();
  RunResumes();
  const int millis = SleepMillis();
  const bool wake = !dead_.empty() || stopped_ || draining_ ||
                    (millis >= 0 && (sleep_millis_ < 0 || millis < sleep_millis_));
  current_ = nullptr;
  turn_.unlock();
  if (wake) WakeUp();
}

void Loop::Adopt(UniqueFd fd, const ClientAddress& address, Door door, bool extra) {
  std::unique_ptr<TlsSession> tls;
  if (door.secure) {
    Result<std::unique_ptr<TlsSession>> begun =
        TlsSession::Begin(*shared_.options.tls->current(), fd.get());
    if (!begun.ok()) {
      (extra ? shared_.extra_connections : shared_.connections)
          .fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    tls = *std::move(begun);
    if (!extra) BeginHandshake();
  }
  const bool shakes = tls != nullptr && !extra;
  auto* connection =
      new Connection(*this, std::move(fd), address, door.listener, std::move(tls), extra);
  Link(connection);
  const int socket = connection->fd_.get();
  if (draining_ || !Watch(socket, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, connection).ok()) {
    connection->Close();
    return;
  }
  if (extra)
    Arm(connection, Deadline::kExtra);
  else if (shakes)
    Arm(connection, Deadline::kHandshake);
  else
    Arm(connection, Deadline::kIdle);
}

void Loop::BeginHandshake() {
  const ServerOptions& options = shared_.options;
  const int most = std::max(1, options.max_handshakes / std::max(1, options.threads));
  Connection* const oldest = deadlines_[static_cast<int>(Deadline::kHandshake)].first;
  if (handshakes_ >= most && oldest != nullptr) {
    shared_.crowded_out_handshakes.fetch_add(1, std::memory_order_relaxed);
    oldest->Close();
  }
  ++handshakes_;
}

void Loop::CloseStuck() {
  if (now_ticks_ < next_close_stuck_ticks_) return;
  next_close_stuck_ticks_ = now_ticks_ + kCloseStuckMicros;
  for (const Deadline kind : {Deadline::kWrite, Deadline::kHeader}) {
    Connection* each = deadlines_[static_cast<int>(kind)].first;
    while (each != nullptr && shared_.memory.full()) {
      Connection* const next = each->next_deadline_;
      if (each->IsStuck()) {
        shared_.slow_clients.fetch_add(1, std::memory_order_relaxed);
        each->Close();
      }
      each = next;
    }
  }
}

void Loop::RefuseSlowBodies() {
  const auto crowded = [this] {
    return shared_.arriving_bytes.load(std::memory_order_relaxed) > shared_.memory.limit() / 8;
  };
  if (!shared_.memory.pressed() || !crowded() || now_ticks_ < next_refuse_slow_ticks_) return;
  std::vector<std::pair<int64_t, Connection*>> slow;
  int others = 0;
  for (Connection* each = deadlines_[static_cast<int>(Deadline::kBody)].first; each != nullptr;
       each = each->next_deadline_) {
    const int64_t micros = each->ExpectedBodyMicros();
    if (micros >= kSlowBodyMicros)
      slow.emplace_back(micros, each);
    else
      ++others;
  }
  std::sort(slow.begin(), slow.end(), std::greater<>());
  // A body may take memory that no other asks for.
  if (others == 0 && !slow.empty()) slow.pop_back();
  for (const auto& [micros, connection] : slow) {
    if (!crowded()) return;
    shared_.slow_clients.fetch_add(1, std::memory_order_relaxed);
    connection->RefuseSlowBody();
  }
  // The other bodies are in time, or in another loop.
  if (crowded()) next_refuse_slow_ticks_ = now_ticks_ + kRefuseSlowMicros;
}

bool Loop::CloseOldestExtra() {
  for (const Deadline kind : {Deadline::kExtra, Deadline::kLinger}) {
    const List& list = deadlines_[static_cast<int>(kind)];
    for (Connection* each = list.first; each != nullptr; each = each->next_deadline_) {
      if (each->deadline_ticks_ - list.length_micros > now_ticks_ - kShortestExtraMicros) break;
      if (!each->extra_) continue;
      each->Close();
      return true;
    }
  }
  return false;
}

bool Loop::CloseOldestWaiting() {
  const auto close_first = [this](Deadline kind, int64_t shortest_micros) {
    const List& list = deadlines_[static_cast<int>(kind)];
    if (list.first == nullptr ||
        list.first->deadline_ticks_ - list.length_micros > now_ticks_ - shortest_micros)
      return false;
    list.first->Close();
    return true;
  };
  return close_first(Deadline::kIdle, kShortestIdleMicros) ||
         close_first(Deadline::kHeader, kShortestHeaderMicros);
}

void Loop::BeginDrain() {
  draining_ = true;
  for (Connection* connection = connections_; connection != nullptr;
       connection = connection->next_) {
    if (connection->idle()) connection->Close();
  }
}

void Loop::StopNow() {
  stopped_ = draining_ = true;
  for (Connection* connection = connections_; connection != nullptr; connection = connection->next_)
    connection->Close();
}

std::string_view Loop::common_headers() { return common_headers_.At(shared_.clock.NowMicros()); }

void Loop::Link(Connection* connection) {
  connection->next_ = connections_;
  if (connections_ != nullptr) connections_->previous_ = connection;
  connections_ = connection;
}

void Loop::Unlink(Connection* connection) {
  Disarm(connection);
  (connection->previous_ != nullptr ? connection->previous_->next_ : connections_) =
      connection->next_;
  if (connection->next_ != nullptr) connection->next_->previous_ = connection->previous_;
  connection->next_ = connection->previous_ = nullptr;
}

void Loop::Arm(Connection* connection, Deadline kind) {
  Disarm(connection);
  List& list = deadlines_[static_cast<int>(kind)];
  connection->armed_ = true;
  connection->armed_kind_ = kind;
  connection->deadline_ticks_ = now_ticks_ + list.length_micros;
  connection->previous_deadline_ = list.last;
  (list.last != nullptr ? list.last->next_deadline_ : list.first) = connection;
  list.last = connection;
}

void Loop::Disarm(Connection* connection) {
  if (!connection->armed_) return;
  List& list = deadlines_[static_cast<int>(connection->armed_kind_)];
  Connection* const previous = connection->previous_deadline_;
  Connection* const next = connection->next_deadline_;
  (previous != nullptr ? previous->next_deadline_ : list.first) = next;
  (next != nullptr ? next->previous_deadline_ : list.last) = previous;
  connection->previous_deadline_ = connection->next_deadline_ = nullptr;
  connection->armed_ = false;
}

void Loop::ExpireDeadlines() {
  for (int kind = 0; kind < kDeadlines; ++kind) {
    while (Connection* connection = deadlines_[kind].first) {
      if (connection->deadline_ticks_ > now_ticks_) break;
      Disarm(connection);
      connection->OnDeadline(static_cast<Deadline>(kind));
    }
  }
  RefuseSlowBodies();
}

std::unique_ptr<RequestReader> Loop::TakeReader() {
  if (readers_.empty()) {
    shared_.memory.Count(RequestReader::kCapacity);
    return std::make_unique<RequestReader>();
  }
  std::unique_ptr<RequestReader> reader = std::move(readers_.back());
  readers_.pop_back();
  return reader;
}

void Loop::GiveBack(std::unique_ptr<RequestReader> reader) {
  if (reader == nullptr) return;
  if (readers_.size() >= kPooled) {
    shared_.memory.Count(-static_cast<int64_t>(RequestReader::kCapacity));
    return;
  }
  reader->Clear();
  readers_.push_back(std::move(reader));
}

std::unique_ptr<Output> Loop::TakeOutput() {
  if (outputs_.empty()) return std::make_unique<Output>();
  std::unique_ptr<Output> output = std::move(outputs_.back());
  outputs_.pop_back();
  return output;
}

void Loop::GiveBack(std::unique_ptr<Output> output) {
  if (output == nullptr || outputs_.size() >= kPooled ||
      output->text.capacity() > kPooledOutputBytes)
    return;
  output->text.clear();
  // An assignment of an empty string would keep the buffer.
  std::string().swap(output->body);
  output->sent = 0;
  output->counted = 0;
  outputs_.push_back(std::move(output));
}

}  // namespace stator::http
