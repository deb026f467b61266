// The connections of one process to the others of its store, and theirs to it, on one thread.
//
// A process asks over a connection that it has opened, and answers over those that the others have
// opened. The thread is the executor on which it answers.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "access/crypto.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/mutex.h"
#include "base/result.h"
#include "link/asker.h"
#include "link/leases.h"
#include "link/owner.h"

namespace stator::link {

// Another process of the store.
struct Peer {
  std::string id;
  std::string host;  // a name or an address
  uint16_t port = 0;
  bool operator==(const Peer&) const = default;
};

// Counters for an operator.
struct HubStatistics {
  uint64_t connections = 0;  // to others, of which the owner was heard
  uint64_t asked = 0;        // requests that were sent
  uint64_t refused = 0;      // of those: refused by the owner
  uint64_t unknown = 0;      // of those: without an answer
  uint64_t served = 0;       // requests of others
  uint64_t broken = 0;       // connections to others that have ended
};

// Thread-safe.
class Hub final : public Executor {
 public:
  struct Options {
    AskerOptions asker;
    OwnerOptions owner;
    // Sockets that listen. Owned from here on.
    std::vector<int> listening;
  };
  // Runs a request of another process. Called on the hub's thread; must not wait. `reply` is called
  // once, on any thread; `refused`: nothing was done and nothing will be.
  using Reply = UniqueFunction<void(bool refused, std::string answer)>;
  using Serve = std::function<void(const std::string& asker, std::string request,
                                   kv::FatePtr permit, Reply reply)>;

  // `clock` is the machine's. Clock and random outlive the hub. kUnavailable if the system refuses
  // what the thread needs.
  static Result<std::unique_ptr<Hub>> Open(Options options, const Clock& clock,
                                           access::SecureRandom& random, Serve serve);
  // Starts the thread. Once.
  void Start();
  ~Hub() override { Stop(); }

  // Sets whom this process connects to. Resolves names, so it may wait.
  void SetPeers(std::vector<Peer> peers);
  // The ids of peers that can be asked now.
  std::vector<std::string> Warm() const;
  // Sends a request to a peer. Returns false, and leaves `done` untouched, if that cannot be asked
  // now. Else `done` is called once, on the hub's thread, with no lock held.
  bool Ask(const std::string& peer, std::string_view request, AnswerDone& done);

  // Refuses requests of others from now on.
  void BeginStop();
  // Waits for the requests of others that are running, then ends the thread. Requests of this
  // process get an unknown outcome. Idempotent.
  void Stop();

  Leases& leases() { return leases_; }
  HubStatistics Statistics() const;

  void Post(UniqueFunction<void()> task) override;
  bool IsCurrent() const override { return std::this_thread::get_id() == thread_.get_id(); }
  void WakeUp() override;

 private:
  // A connection to a peer.
  struct Door {
    explicit Door(Peer to) : peer(std::move(to)) {}
    const Peer peer;
    sockaddr_storage address = {};
    socklen_t address_bytes = 0;
    Mutex mutex;
    std::unique_ptr<Asker> asker GUARDED_BY(mutex);  // null: not connected
    bool flush_posted GUARDED_BY(mutex) = false;
    // The thread's:
    int fd = -1;
    uint64_t id = 0;  // of the socket in epoll
    bool connected = false;
    bool waits_to_write = false;
    int64_t retry_at = 0;    // ticks
    int64_t give_up_at = 0;  // of what is not known yet
  };
  // A connection of another process.
  struct Guest {
    int fd = -1;
    uint64_t id = 0;
    int64_t since = 0;
    bool waits_to_write = false;
    std::unique_ptr<Owner> owner;
  };
  // A broken connection whose requests are not known yet to be over.
  struct Dying {
    std::unique_ptr<Asker> asker;
    int64_t at = 0;
  };

  Hub(Options options, const Clock& clock, access::SecureRandom& random, Serve serve);
  Status OpenSockets();
  void Run();
  void RunTasks();
  void OnEvents(uint64_t id, uint32_t events);
  void Accept(int listening);
  void OnDoor(const std::shared_ptr<Door>& door, uint32_t events);
  void OnGuest(uint64_t id, uint32_t events);
  void Connect(const std::shared_ptr<Door>& door);
  void Flush(const std::shared_ptr<Door>& door);
  bool FlushGuest(Guest& guest);
  void Break(const std::shared_ptr<Door>& door, std::string_view why);
  void CloseGuest(uint64_t id);
  void Tell(Asker::Finished finished);
  void Tick();
  int SleepMillis();
  std::vector<std::shared_ptr<Door>> Doors() const;
  bool Watch(int fd, uint64_t id, bool write, bool add);

  const Options options_;
  const Clock& clock_;
  access::SecureRandom& random_;
  const Serve serve_;
  Leases leases_;

  mutable Mutex doors_mutex_;
  std::map<std::string, std::shared_ptr<Door>> doors_ GUARDED_BY(doors_mutex_);

  Mutex mutex_;
  std::vector<UniqueFunction<void()>> posted_ GUARDED_BY(mutex_);
  std::atomic<bool> sleeping_ = false;
  std::atomic<bool> ends_ = false;
  std::atomic<bool> stopping_ = false;
  bool stopped_ = false;

  // The thread's:
  int epoll_ = -1;
  int wake_ = -1;
  uint64_t next_id_ = 0;
  std::map<uint64_t, int> listeners_;
  std::map<uint64_t, std::shared_ptr<Door>> doors_by_id_;
  std::map<uint64_t, std::unique_ptr<Guest>> guests_;
  std::vector<Dying> dying_;
  int64_t look_at_guests_ = 0;
  std::atomic<size_t> running_ = 0;

  std::atomic<uint64_t> asked_ = 0, refused_ = 0, unknown_ = 0, served_ = 0, broken_ = 0;
  std::thread thread_;
};

}  // namespace stator::link
