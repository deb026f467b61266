#include "link/hub.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/out_of_memory.h"

namespace stator::link {
namespace {

constexpr uint64_t kWake = 0;
constexpr size_t kMostGuests = 1024;
constexpr size_t kMostStrangers = 64;  // connections that have not shown that they know the secret
constexpr int64_t kHandshakeMicros = 2'000'000;
constexpr int64_t kRetryMicros = 500'000;
constexpr int64_t kGuestSilenceMicros = 10'000'000;
constexpr int64_t kLookAtGuestsMicros = 1'000'000;
constexpr int64_t kStopMicros = 30'000'000;
// The maximum number of bytes of answers that wait because the asking process does not read them.
constexpr size_t kMostUnread = 64 << 20;
constexpr size_t kReadBytes = 256 << 10;

void SetNoDelay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Sends what it can. Returns false if the connection is broken.
bool SendSome(int fd, std::string* output) {
  size_t sent = 0;
  while (sent < output->size()) {
    const ssize_t n = ::send(fd, output->data() + sent, output->size() - sent, MSG_NOSIGNAL);
    if (n > 0) {
      sent += static_cast<size_t>(n);
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      break;
    } else {
      return false;
    }
  }
  output->erase(0, sent);
  if (output->empty() && output->capacity() > kReadBytes) output->shrink_to_fit();
  return true;
}

// Reads what there is, up to the size of the buffer. Returns false at the end of the connection.
bool ReadSome(int fd, std::string* bytes) {
  thread_local std::string buffer(kReadBytes, '\0');
  while (true) {
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (n == 0) return false;
    bytes->assign(buffer.data(), static_cast<size_t>(n));
    return true;
  }
}

}  // namespace

Hub::Hub(Options options, const Clock& clock, access::SecureRandom& random, Serve serve)
    : options_(std::move(options)),
      clock_(clock),
      random_(random),
      serve_(std::move(serve)),
      leases_(clock) {}

Result<std::unique_ptr<Hub>> Hub::Open(Options options, const Clock& clock,
                                       access::SecureRandom& random, Serve serve) {
  std::unique_ptr<Hub> hub(new Hub(std::move(options), clock, random, std::move(serve)));
  const Status opened = hub->OpenSockets();
  if (!opened.ok()) return opened.error();
  return hub;
}

void Hub::Start() {
  thread_ = std::thread([this] { Run(); });
}

Status Hub::OpenSockets() {
  for (const int fd : options_.listening) listeners_.emplace(++next_id_, fd);
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  bool good = epoll_ >= 0 && wake_ >= 0 && Watch(wake_, kWake, false, true);
  for (const auto& [id, fd] : listeners_) good = good && Watch(fd, id, false, true);
  if (!good) return Error(ErrorCode::kUnavailable, "the system has no descriptors for links");
  return OkStatus();
}

bool Hub::Watch(int fd, uint64_t id, bool write, bool add) {
  epoll_event event = {};
  event.events = EPOLLIN | (write ? EPOLLOUT : 0u);
  event.data.u64 = id;
  return ::epoll_ctl(epoll_, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) == 0;
}

void Hub::Post(UniqueFunction<void()> task) {
  {
    const MutexLock lock(mutex_);
    posted_.push_back(std::move(task));
  }
  if (!WakeUps::PutOff(this)) WakeUp();
}

void Hub::WakeUp() {
  if (!sleeping_.exchange(false)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

std::vector<std::shared_ptr<Hub::Door>> Hub::Doors() const {
  std::vector<std::shared_ptr<Door>> doors;
  const MutexLock lock(doors_mutex_);
  doors.reserve(doors_.size());
  for (const auto& [id, door] : doors_) doors.push_back(door);
  return doors;
}

void Hub::SetPeers(std::vector<Peer> peers) {
  std::map<std::string, std::shared_ptr<Door>> next;
  {
    const MutexLock lock(doors_mutex_);
    for (const Peer& peer : peers) {
      const auto found = doors_.find(peer.id);
      if (found != doors_.end() && found->second->peer == peer) next.insert(*found);
    }
    if (next.size() == doors_.size() && next.size() == peers.size()) return;
  }
  for (const Peer& peer : peers) {
    if (next.contains(peer.id)) continue;
    auto door = std::make_shared<Door>(peer);
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* list = nullptr;
    if (::getaddrinfo(peer.host.c_str(), std::to_string(peer.port).c_str(), &hints, &list) != 0)
      continue;  // tried again by the next call
    std::copy_n(reinterpret_cast<const char*>(list->ai_addr), list->ai_addrlen,
                reinterpret_cast<char*>(&door->address));
    door->address_bytes = list->ai_addrlen;
    ::freeaddrinfo(list);
    next.emplace(peer.id, std::move(door));
  }
  std::map<std::string, std::shared_ptr<Door>> old;
  {
    const MutexLock lock(doors_mutex_);
    old = std::exchange(doors_, std::move(next));
  }
  Post([this, old = std::move(old)] {
    for (const auto& [id, door] : old) {
      bool kept = false;
      {
        const MutexLock lock(doors_mutex_);
        const auto found = doors_.find(id);
        kept = found != doors_.end() && found->second == door;
      }
      if (!kept) Break(door, "it has left");
    }
  });
}

std::vector<std::string> Hub::Warm() const {
  std::vector<std::string> ids;
  for (const std::shared_ptr<Door>& door : Doors()) {
    const MutexLock lock(door->mutex);
    if (door->asker != nullptr && door->asker->known()) ids.push_back(door->peer.id);
  }
  return ids;
}

bool Hub::Ask(const std::string& peer, std::string_view request, AnswerDone& done) {
  std::shared_ptr<Door> door;
  {
    const MutexLock lock(doors_mutex_);
    const auto found = doors_.find(peer);
    if (found == doors_.end()) return false;
    door = found->second;
  }
  bool taken = false, flush = false;
  {
    const MutexLock lock(door->mutex);
    if (door->asker == nullptr) return false;
    taken = door->asker->Ask(request, done);
    // Also the ping that an idle link sends.
    flush = !door->asker->output().empty() && !std::exchange(door->flush_posted, true);
  }
  if (taken) asked_.fetch_add(1, std::memory_order_relaxed);
  if (flush) Post([this, door] { Flush(door); });
  return taken;
}

void Hub::BeginStop() {
  stopping_ = true;
  Post([this] {
    std::vector<uint64_t> over;
    for (auto& [id, guest] : guests_) {
      guest->owner->BeginStop();
      if (!guest->owner->known() || !FlushGuest(*guest)) over.push_back(id);
    }
    for (const uint64_t id : over) CloseGuest(id);
  });
}

void Hub::Stop() {
  if (std::exchange(stopped_, true)) return;
  if (thread_.joinable()) {
    BeginStop();
    const int64_t until = clock_.TicksMicros() + kStopMicros;
    while (running_ > 0 && clock_.TicksMicros() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    Post([this] { ends_ = true; });
    thread_.join();
  }
  for (const auto& [id, fd] : listeners_) ::close(fd);
  if (wake_ >= 0) ::close(wake_);
  if (epoll_ >= 0) ::close(epoll_);
}

HubStatistics Hub::Statistics() const {
  HubStatistics statistics;
  statistics.connections = Warm().size();
  statistics.asked = asked_;
  statistics.refused = refused_;
  statistics.unknown = unknown_;
  statistics.served = served_;
  statistics.broken = broken_;
  return statistics;
}

void Hub::RunTasks() {
  std::vector<UniqueFunction<void()>> tasks;
  {
    const MutexLock lock(mutex_);
    tasks.swap(posted_);
  }
  for (UniqueFunction<void()>& task : tasks) RunOrOutOfMemory("a task of links", [&] { task(); });
}

void Hub::Run() {
  epoll_event events[64];
  while (!ends_) {
    sleeping_ = true;
    bool posted = false;
    {
      const MutexLock lock(mutex_);
      posted = !posted_.empty();
    }
    const int count = ::epoll_wait(epoll_, events, 64, posted ? 0 : SleepMillis());
    sleeping_ = false;
    // All answers of a round go to their loops together.
    const WakeUps together(WakeUps::Way::kStandIn);
    for (int i = 0; i < count; ++i) {
      RunOrOutOfMemory("an event of a link",
                       [&] { OnEvents(events[i].data.u64, events[i].events); });
    }
    RunTasks();
    RunOrOutOfMemory("the timers of links", [&] { Tick(); });
  }
  for (const std::shared_ptr<Door>& door : Doors()) Break(door, "this process stops");
  for (Dying& dying : std::exchange(dying_, {})) {
    Asker::Finished finished;
    dying.asker->Break(&finished);
    Tell(std::move(finished));
  }
  while (!guests_.empty()) {
    FlushGuest(*guests_.begin()->second);
    CloseGuest(guests_.begin()->first);
  }
}

int Hub::SleepMillis() {
  int64_t next = INT64_MAX;
  for (const std::shared_ptr<Door>& door : Doors()) {
    const MutexLock lock(door->mutex);
    if (door->asker == nullptr) {
      if (!stopping_) next = std::min(next, door->retry_at);
    } else if (!door->asker->heard()) {
      next = std::min(next, door->give_up_at);
    } else {
      next = std::min(next, door->asker->next_tick());
    }
  }
  for (const Dying& dying : dying_) next = std::min(next, dying.at);
  if (!guests_.empty()) next = std::min(next, look_at_guests_);
  if (next == INT64_MAX) return -1;
  return static_cast<int>(
      std::clamp<int64_t>((next - clock_.TicksMicros() + 999) / 1000, 0, 10'000));
}

void Hub::Tick() {
  const int64_t now = clock_.TicksMicros();
  for (const std::shared_ptr<Door>& door : Doors()) {
    if (door->fd < 0) {
      if (now >= door->retry_at && !stopping_) Connect(door);
      continue;
    }
    std::string why;
    bool flush = false;
    {
      const MutexLock lock(door->mutex);
      if (!door->asker->heard() && now >= door->give_up_at) why = "it does not answer";
      if (const Status tick = door->asker->Tick(); !tick.ok()) why = tick.error().message();
      flush = door->connected && !door->waits_to_write && !door->asker->output().empty();
    }
    if (!why.empty()) {
      Break(door, why);
    } else if (flush) {
      Flush(door);
    }
  }
  for (size_t i = 0; i < dying_.size();) {
    if (now < dying_[i].at) {
      ++i;
      continue;
    }
    Asker::Finished finished;
    dying_[i].asker->Break(&finished);
    dying_.erase(dying_.begin() + static_cast<ptrdiff_t>(i));
    Tell(std::move(finished));
  }
  if (guests_.empty() || now < look_at_guests_) return;
  look_at_guests_ = now + kLookAtGuestsMicros;
  std::vector<uint64_t> silent;
  for (const auto& [id, guest] : guests_) {
    const bool stranger = !guest->owner->known();
    if (stranger ? now - guest->since > kHandshakeMicros
                 : now - guest->owner->last_heard() > kGuestSilenceMicros)
      silent.push_back(id);
  }
  for (const uint64_t id : silent) CloseGuest(id);
}

void Hub::OnEvents(uint64_t id, uint32_t events) {
  if (id == kWake) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_, &count, sizeof count);
    return;
  }
  if (const auto listener = listeners_.find(id); listener != listeners_.end())
    return Accept(listener->second);
  if (const auto door = doors_by_id_.find(id); door != doors_by_id_.end())
    return OnDoor(std::shared_ptr<Door>(door->second), events);
  OnGuest(id, events);
}

void Hub::Tell(Asker::Finished finished) {
  for (auto& [done, answer] : finished) {
    if (answer.outcome == Outcome::kRefused) refused_.fetch_add(1, std::memory_order_relaxed);
    if (answer.outcome == Outcome::kUnknown) unknown_.fetch_add(1, std::memory_order_relaxed);
    done(std::move(answer));
  }
}

// --- To others ---

void Hub::Connect(const std::shared_ptr<Door>& door) {
  const int64_t now = clock_.TicksMicros();
  door->retry_at = now + kRetryMicros;
  const int fd = ::socket(door->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  SetNoDelay(fd);
  const uint64_t id = ++next_id_;
  const bool now_or_later =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&door->address), door->address_bytes) == 0 ||
      errno == EINPROGRESS;
  if (!now_or_later || !Watch(fd, id, true, true)) {
    ::close(fd);
    return;
  }
  door->fd = fd;
  door->id = id;
  door->connected = false;
  door->waits_to_write = true;
  door->give_up_at = now + kHandshakeMicros;
  doors_by_id_[id] = door;
  const MutexLock lock(door->mutex);
  door->asker = std::make_unique<Asker>(options_.asker, door->peer.id, clock_, random_);
}

void Hub::OnDoor(const std::shared_ptr<Door>& door, uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    door->connected = true;
    Flush(door);
    if (door->fd < 0) return;
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  std::string bytes;
  if (!ReadSome(door->fd, &bytes)) return Break(door, "the connection has ended");
  Asker::Finished finished;
  Status received;
  bool news = false, flush = false;
  {
    const MutexLock lock(door->mutex);
    const bool heard = door->asker->heard();
    received = door->asker->Receive(bytes, &finished);
    news = !heard && door->asker->heard();
    flush = !door->waits_to_write && !door->asker->output().empty();
  }
  Tell(std::move(finished));
  if (!received.ok()) return Break(door, received.error().message());
  if (news) LogInfo("link_up", {{"peer", door->peer.id}, {"host", door->peer.host}});
  if (flush) Flush(door);
}

void Hub::Flush(const std::shared_ptr<Door>& door) {
  bool broken = false, more = false;
  {
    const MutexLock lock(door->mutex);
    door->flush_posted = false;
    if (door->asker == nullptr || !door->connected) return;
    broken = !SendSome(door->fd, &door->asker->output());
    more = !door->asker->output().empty();
  }
  if (broken) return Break(door, "the connection has ended");
  if (more == door->waits_to_write) return;
  door->waits_to_write = more;
  if (!Watch(door->fd, door->id, more, false)) Break(door, "it cannot be watched");
}

void Hub::Break(const std::shared_ptr<Door>& door, std::string_view why) {
  if (door->fd < 0) return;
  ::close(std::exchange(door->fd, -1));
  doors_by_id_.erase(door->id);
  door->connected = false;
  door->retry_at = clock_.TicksMicros() + kRetryMicros;
  std::unique_ptr<Asker> asker;
  {
    const MutexLock lock(door->mutex);
    asker = std::move(door->asker);
    door->flush_posted = false;
  }
  if (asker->heard()) {
    broken_.fetch_add(1, std::memory_order_relaxed);
    LogWarn("link_down", {{"peer", door->peer.id},
                          {"host", door->peer.host},
                          {"reason", why},
                          {"unanswered", asker->waiting()}});
  }
  if (asker->waiting() == 0) return;
  const int64_t at = asker->BreakTime();
  dying_.push_back(Dying{std::move(asker), at});
}

// --- Of others ---

void Hub::Accept(int listening) {
  while (true) {
    const int fd = ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    size_t strangers = 0;
    for (const auto& [id, guest] : guests_) strangers += guest->owner->known() ? 0 : 1;
    const uint64_t id = ++next_id_;
    if (guests_.size() >= kMostGuests || strangers >= kMostStrangers || stopping_ ||
        !Watch(fd, id, false, true)) {
      ::close(fd);
      continue;
    }
    SetNoDelay(fd);
    auto guest = std::make_unique<Guest>();
    guest->fd = fd;
    guest->id = id;
    guest->since = clock_.TicksMicros();
    guest->owner = std::make_unique<Owner>(options_.owner, leases_.Add(), clock_, random_);
    guests_.emplace(id, std::move(guest));
  }
}

void Hub::OnGuest(uint64_t id, uint32_t events) {
  const auto found = guests_.find(id);
  if (found == guests_.end()) return;
  Guest& guest = *found->second;
  if ((events & EPOLLOUT) != 0 && !FlushGuest(guest)) return CloseGuest(id);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  std::string bytes;
  std::vector<Owner::Request> requests;
  if (!ReadSome(guest.fd, &bytes) || !guest.owner->Receive(bytes, &requests).ok())
    return CloseGuest(id);
  // Pongs go at once, and not behind what the requests compute.
  if (!FlushGuest(guest)) return CloseGuest(id);
  const std::string asker = guest.owner->asker();
  for (Owner::Request& request : requests) {
    ++running_;
    served_.fetch_add(1, std::memory_order_relaxed);
    serve_(asker, std::move(request.bytes), std::move(request.permit),
           [this, id, number = request.number](bool refused, std::string answer) {
             RunOn(*this, [this, id, number, refused, answer = std::move(answer)] {
               const auto still = guests_.find(id);
               if (still == guests_.end()) {
                 --running_;
                 return;
               }
               Guest& to = *still->second;
               const bool first = to.owner->output().empty();
               to.owner->Reply(number, refused, answer);
               --running_;
               // The answers of a round go together.
               if (first && !to.waits_to_write) {
                 Post([this, id] {
                   const auto one = guests_.find(id);
                   if (one != guests_.end() && !FlushGuest(*one->second)) CloseGuest(id);
                 });
               }
             });
           });
  }
}

bool Hub::FlushGuest(Guest& guest) {
  std::string& output = guest.owner->output();
  if (!SendSome(guest.fd, &output) || output.size() > kMostUnread) return false;
  const bool more = !output.empty();
  if (more == guest.waits_to_write) return true;
  guest.waits_to_write = more;
  return Watch(guest.fd, guest.id, more, false);
}

void Hub::CloseGuest(uint64_t id) {
  const auto found = guests_.find(id);
  if (found == guests_.end()) return;
  ::close(found->second->fd);
  guests_.erase(found);
}

}  // namespace stator::link
