#include "kv_rados/fake_cluster.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace stator::kv_rados {
namespace {

constexpr char kUserPrefix[] = "process-";
constexpr int64_t kPoolId = 1;

thread_local FakeCluster* current = nullptr;

struct Completion {
  void* argument;
  rados_callback_t call;
  int result = 0;
  int references = 1;
};

struct Entries {
  std::vector<std::pair<std::string, std::string>> entries;
  size_t next = 0;
};

}  // namespace

// Where librados would put the results of one step.
struct FakeCluster::Reader {
  Entries* entries = nullptr;
  unsigned char* more = nullptr;
  int* status = nullptr;
  rados_xattrs_iter_t* attributes = nullptr;
};

// ---- the cluster --------------------------------------------------------------------------------

FakeCluster::FakeCluster(Fibers& fibers, ManualClock& clock, Random& random, Observer& observer)
    : fibers_(fibers), clock_(clock), random_(random), observer_(observer) {
  current = this;
}

FakeCluster::~FakeCluster() {
  current = nullptr;
  if (connections_ == 0) return;
  std::fprintf(stderr, "%d connections to the fake cluster are open.\n", connections_);
  std::abort();
}

std::string FakeCluster::UserOf(int process) { return kUserPrefix + std::to_string(process); }

bool FakeCluster::IsDead(int process) const {
  return std::find(dead_.begin(), dead_.end(), process) != dead_.end();
}

bool FakeCluster::IsShutOut(int process) const {
  return std::find(shut_out_.begin(), shut_out_.end(), process) != shut_out_.end();
}

FakeCluster::PendingPtr FakeCluster::Send(Client& client, const char* object, bool write,
                                          std::shared_ptr<const FakeSteps> steps,
                                          std::shared_ptr<std::vector<Reader>> readers,
                                          UniqueFunction<void(int)> done) {
  auto pending = std::make_shared<Pending>();
  pending->operation = {client.process, object, write, std::move(steps), nullptr};
  pending->until = clock_.TicksMicros() + client.timeout_micros;
  pending->readers = std::move(readers);
  pending->done = std::move(done);
  if (IsDead(client.process) || IsShutOut(client.process)) {
    pending->state = Pending::State::kRefused;
    pending->result = -ESHUTDOWN;
  } else {
    if (write) observer_.OnSent(pending->operation);
    const double chance = random_.Unit();
    if (chance < faults.late + faults.never) {
      pending->state = Pending::State::kHanging;
      pending->may_be_late = chance < faults.late;
    }
  }
  pending_.push_back(pending);
  return pending;
}

int FakeCluster::SendAndWait(Client& client, const char* object, bool write,
                             std::shared_ptr<const FakeSteps> steps,
                             std::shared_ptr<std::vector<Reader>> readers) {
  bool ended = false;
  int result = 0;
  Send(client, object, write, std::move(steps), std::move(readers), [&](int answer) {
    result = answer;
    ended = true;
    fibers_.Notify(&ended, true);
  });
  while (!ended) fibers_.Wait(&ended, std::nullopt);
  return result;
}

void FakeCluster::AppendEvents(const std::vector<bool>& frozen, std::vector<Event>* events) const {
  const int64_t now = clock_.TicksMicros();
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Pending& pending = *pending_[i];
    const bool silent = frozen[static_cast<size_t>(pending.operation.process)];
    if (pending.until <= now && !silent && pending.state != Pending::State::kRefused) {
      events->push_back({Event::Kind::kTimeOut, i});
    }
    const bool applies = pending.state == Pending::State::kSent;
    const bool answers =
        pending.state == Pending::State::kApplied || pending.state == Pending::State::kRefused;
    if ((!applies && !answers) || (answers && silent)) continue;
    if (applies && full_ && pending.operation.write) continue;
    // In their order, those of one process on one object.
    const bool first =
        std::none_of(pending_.begin(), pending_.begin() + static_cast<long>(i),
                     [&pending](const PendingPtr& before) {
                       return before->state == pending.state &&
                              before->operation.process == pending.operation.process &&
                              before->operation.object == pending.operation.object;
                     });
    if (first) events->push_back({applies ? Event::Kind::kApply : Event::Kind::kAnswer, i});
  }
  if (full_) return;
  for (size_t i = 0; i < late_.size(); ++i) events->push_back({Event::Kind::kLate, i});
}

int64_t FakeCluster::NextTime(const std::vector<bool>& frozen) const {
  int64_t next = INT64_MAX;
  for (const PendingPtr& pending : pending_) {
    if (!frozen[static_cast<size_t>(pending->operation.process)])
      next = std::min(next, pending->until);
  }
  return next;
}

void FakeCluster::Run(const Event& event) {
  if (event.kind == Event::Kind::kLate) {
    const Operation operation = std::move(late_[event.number]);
    late_.erase(late_.begin() + static_cast<long>(event.number));
    std::vector<FakeOutput> outputs;
    if (objects.Apply(operation.object, *operation.steps, &outputs) < 0) return;
    ++applied_late;
    observer_.OnApplied(operation);
    return;
  }
  const PendingPtr pending = pending_[event.number];
  switch (event.kind) {
    case Event::Kind::kApply: {
      const Operation& operation = pending->operation;
      pending->result = objects.Apply(operation.object, *operation.steps, &pending->outputs);
      pending->state = Pending::State::kApplied;
      if (random_.Unit() < faults.lost_answer) {
        pending->state = Pending::State::kLost;
        ++lost_answers;
      }
      if (pending->result >= 0 && operation.write) observer_.OnApplied(operation);
      break;
    }
    case Event::Kind::kAnswer:
      Answer(event.number, IsShutOut(pending->operation.process) ? -ESHUTDOWN : pending->result);
      break;
    default: {
      const bool sent = pending->state == Pending::State::kSent && random_.Below(2) == 0;
      const bool hangs = pending->state == Pending::State::kHanging && pending->may_be_late;
      if (pending->operation.write && (sent || hangs)) late_.push_back(pending->operation);
      Answer(event.number, -ETIMEDOUT);
    }
  }
}

void FakeCluster::Answer(size_t number, int result) {
  const PendingPtr pending = std::move(pending_[number]);
  pending_.erase(pending_.begin() + static_cast<long>(number));
  if (pending->readers != nullptr && result != -ETIMEDOUT && result != -ESHUTDOWN) {
    for (size_t i = 0; i < pending->readers->size(); ++i) {
      Reader& reader = pending->readers->at(i);
      FakeOutput& output = pending->outputs.at(i);
      if (reader.attributes != nullptr) {
        *reader.attributes = new Entries{std::move(output.entries)};
        continue;
      }
      if (reader.entries == nullptr) continue;
      reader.entries->entries = std::move(output.entries);
      if (reader.more != nullptr) *reader.more = output.more ? 1 : 0;
      if (reader.status != nullptr) *reader.status = 0;
    }
  }
  pending->done(result);
}

void FakeCluster::Kill(int process) {
  dead_.push_back(process);
  for (const PendingPtr& pending : pending_) {
    if (pending->operation.process != process) continue;
    const bool unapplied =
        pending->state == Pending::State::kSent || pending->state == Pending::State::kHanging;
    if (unapplied && pending->operation.write && random_.Below(2) == 0)
      late_.push_back(pending->operation);
    pending->state = Pending::State::kRefused;
    pending->result = -ESHUTDOWN;
  }
}

void FakeCluster::ShutOut(int process) {
  shut_out_.push_back(process);
  for (const PendingPtr& pending : pending_) {
    if (pending->operation.process != process) continue;
    // An operation that was applied already stays applied, although its process is told that it
    // failed.
    pending->state = Pending::State::kRefused;
    pending->result = -ESHUTDOWN;
  }
}

void FakeCluster::DropLate() {
  while (!late_.empty()) {
    if (random_.Below(2) == 0) {
      Run({Event::Kind::kLate, static_cast<size_t>(random_.Below(late_.size()))});
    } else {
      late_.pop_back();
    }
  }
}

// ---- librados -----------------------------------------------------------------------------------

struct FakeApi {
  using Client = FakeCluster::Client;
  using Reader = FakeCluster::Reader;
  struct WriteOp {
    std::shared_ptr<FakeSteps> steps = std::make_shared<FakeSteps>();
  };
  struct ReadOp {
    std::shared_ptr<FakeSteps> steps = std::make_shared<FakeSteps>();
    std::shared_ptr<std::vector<Reader>> readers = std::make_shared<std::vector<Reader>>();
  };
  using Kind = FakeStep::Kind;

  static int Unsupported() { return -EOPNOTSUPP; }

  static int Create(rados_t* to, const char*, const char* name, uint64_t) {
    const std::string_view user(name);
    const size_t at = user.find(kUserPrefix);
    if (current == nullptr || at == std::string_view::npos) return -EINVAL;
    auto client = std::make_unique<Client>();
    client->cluster = current;
    const std::string_view number = user.substr(at + std::strlen(kUserPrefix));
    std::from_chars(number.data(), number.data() + number.size(), client->process);
    ++current->connections_;
    *to = client.release();
    return 0;
  }
  static void Shutdown(rados_t cluster) {
    auto* const client = static_cast<Client*>(cluster);
    --client->cluster->connections_;
    delete client;
  }
  static int Set(rados_t cluster, const char* name, const char* value) {
    if (std::string_view(name) == "rados_osd_op_timeout")
      static_cast<Client*>(cluster)->timeout_micros = std::atoll(value) * 1'000'000;
    return 0;
  }
  static int CreateContext(rados_t cluster, const char*, rados_ioctx_t* context) {
    *context = cluster;
    return 0;
  }
  static int ReverseLookup(rados_t, int64_t, char* name, size_t length) {
    return std::snprintf(name, length, "simulated");
  }
  static int MonitorCommand(rados_t cluster, const char**, size_t, const char*, size_t,
                            char** output, size_t* length, char** status, size_t* status_length) {
    const FakeCluster& fake = *static_cast<Client*>(cluster)->cluster;
    const std::string dump = std::string("pool 1 'simulated' replicated size 3 flags hashpspool") +
                             (fake.full() ? ",full" : "") + " stripe_width 0\n";
    *output = ::strdup(dump.c_str());
    *length = dump.size();
    *status = nullptr;
    *status_length = 0;
    return 0;
  }

  static FakeSteps& StepsOf(rados_write_op_t op) { return *static_cast<WriteOp*>(op)->steps; }
  static void Add(rados_read_op_t op, FakeStep step, Reader reader) {
    auto* const read = static_cast<ReadOp*>(op);
    read->steps->push_back(std::move(step));
    read->readers->push_back(reader);
  }
  static std::vector<std::string> Texts(char const* const* texts, const size_t* lengths,
                                        size_t count) {
    std::vector<std::string> all;
    all.reserve(count);
    for (size_t i = 0; i < count; ++i) all.emplace_back(texts[i], lengths[i]);
    return all;
  }
  static Entries* NewEntries(rados_omap_iter_t* to) {
    auto* const entries = new Entries;
    *to = entries;
    return entries;
  }
  static bool Next(Entries& entries, std::pair<std::string, std::string>** entry) {
    if (entries.next == entries.entries.size()) return false;
    *entry = &entries.entries[entries.next++];
    return true;
  }
  static int SendLater(rados_ioctx_t context, rados_completion_t done, const char* object,
                       bool write, std::shared_ptr<FakeSteps> steps,
                       std::shared_ptr<std::vector<Reader>> readers) {
    auto* const completion = static_cast<Completion*>(done);
    ++completion->references;
    auto& client = *static_cast<Client*>(context);
    client.cluster->Send(client, object, write, std::move(steps), std::move(readers),
                         [completion](int result) {
                           completion->result = result;
                           completion->call(completion, completion->argument);
                           Release(completion);
                         });
    return 0;
  }
  static void Release(rados_completion_t done) {
    auto* const completion = static_cast<Completion*>(done);
    if (--completion->references == 0) delete completion;
  }

  static RadosApi Make();
};

RadosApi FakeApi::Make() {
  RadosApi api;
  api.create2 = &Create;
  api.shutdown = &Shutdown;
  api.conf_read_file = [](rados_t, const char*) { return 0; };
  api.conf_set = &Set;
  api.conf_get = [](rados_t, const char*, char*, size_t) { return -ENOENT; };
  api.connect = [](rados_t) { return 0; };
  api.ioctx_create = &CreateContext;
  api.ioctx_destroy = [](rados_ioctx_t) {};
  api.ioctx_set_namespace = [](rados_ioctx_t, const char*) {};
  api.ioctx_get_id = [](rados_ioctx_t) { return kPoolId; };
  api.pool_reverse_lookup = &ReverseLookup;
  api.mon_command = &MonitorCommand;
  api.buffer_free = [](char* buffer) { std::free(buffer); };

  api.create_write_op = []() -> rados_write_op_t { return new WriteOp; };
  api.release_write_op = [](rados_write_op_t op) { delete static_cast<WriteOp*>(op); };
  api.write_op_create = [](rados_write_op_t op, int exclusive, const char*) {
    const bool alone = exclusive == LIBRADOS_CREATE_EXCLUSIVE;
    StepsOf(op).push_back({.kind = alone ? Kind::kCreateExclusively : Kind::kCreate});
  };
  api.write_op_cmpxattr = [](rados_write_op_t op, const char* name, uint8_t how, const char* value,
                             size_t length) {
    StepsOf(op).push_back({.kind = Kind::kCompareAttribute,
                           .name = name,
                           .value = std::string(value, length),
                           .compare = how});
  };
  api.write_op_setxattr = [](rados_write_op_t op, const char* name, const char* value,
                             size_t length) {
    StepsOf(op).push_back(
        {.kind = Kind::kSetAttribute, .name = name, .value = std::string(value, length)});
  };
  api.write_op_omap_cmp2 = [](rados_write_op_t op, const char* key, uint8_t how, const char* value,
                              size_t key_length, size_t length, int*) {
    StepsOf(op).push_back({.kind = Kind::kCompareKey,
                           .name = std::string(key, key_length),
                           .value = std::string(value, length),
                           .compare = how});
  };
  api.write_op_omap_set2 = [](rados_write_op_t op, char const* const* keys,
                              char const* const* values, const size_t* key_lengths,
                              const size_t* lengths, size_t count) {
    StepsOf(op).push_back({.kind = Kind::kSet,
                           .keys = Texts(keys, key_lengths, count),
                           .values = Texts(values, lengths, count)});
  };
  api.write_op_omap_rm_keys2 = [](rados_write_op_t op, char const* const* keys,
                                  const size_t* lengths, size_t count) {
    StepsOf(op).push_back({.kind = Kind::kRemove, .keys = Texts(keys, lengths, count)});
  };
  api.write_op_omap_rm_range2 = [](rados_write_op_t op, const char* begin, size_t begin_length,
                                   const char* end, size_t end_length) {
    StepsOf(op).push_back({.kind = Kind::kRemoveRange,
                           .name = std::string(begin, begin_length),
                           .value = std::string(end, end_length)});
  };
  api.create_read_op = []() -> rados_read_op_t { return new ReadOp; };
  api.release_read_op = [](rados_read_op_t op) { delete static_cast<ReadOp*>(op); };
  api.read_op_cmpxattr = [](rados_read_op_t op, const char* name, uint8_t how, const char* value,
                            size_t length) {
    Add(op,
        {.kind = Kind::kCompareAttribute,
         .name = name,
         .value = std::string(value, length),
         .compare = how},
        {});
  };
  api.read_op_getxattrs = [](rados_read_op_t op, rados_xattrs_iter_t* to, int* status) {
    Add(op, {.kind = Kind::kAttributes}, {.status = status, .attributes = to});
  };
  api.read_op_omap_get_vals2 = [](rados_read_op_t op, const char* after, const char* prefix,
                                  uint64_t limit, rados_omap_iter_t* to, unsigned char* more,
                                  int* status) {
    Add(op, {.kind = Kind::kRange, .name = after, .value = prefix, .limit = limit},
        {.entries = NewEntries(to), .more = more, .status = status});
  };
  api.read_op_omap_get_keys2 = [](rados_read_op_t op, const char* after, uint64_t limit,
                                  rados_omap_iter_t* to, unsigned char* more, int* status) {
    Add(op, {.kind = Kind::kCells, .name = after, .limit = limit},
        {.entries = NewEntries(to), .more = more, .status = status});
  };
  api.read_op_omap_get_vals_by_keys2 = [](rados_read_op_t op, char const* const* keys, size_t count,
                                          const size_t* lengths, rados_omap_iter_t* to,
                                          int* status) {
    Add(op, {.kind = Kind::kKeys, .keys = Texts(keys, lengths, count)},
        {.entries = NewEntries(to), .status = status});
  };
  api.getxattrs_next = [](rados_xattrs_iter_t from, const char** name, const char** value,
                          size_t* length) {
    std::pair<std::string, std::string>* entry = nullptr;
    const bool is = Next(*static_cast<Entries*>(from), &entry);
    *name = is ? entry->first.c_str() : nullptr;
    *value = is ? entry->second.data() : nullptr;
    *length = is ? entry->second.size() : 0;
    return 0;
  };
  api.getxattrs_end = [](rados_xattrs_iter_t from) { delete static_cast<Entries*>(from); };
  api.omap_get_next2 = [](rados_omap_iter_t from, char** key, char** value, size_t* key_length,
                          size_t* length) {
    std::pair<std::string, std::string>* entry = nullptr;
    const bool is = Next(*static_cast<Entries*>(from), &entry);
    *key = is ? entry->first.data() : nullptr;
    *value = is ? entry->second.data() : nullptr;
    *key_length = is ? entry->first.size() : 0;
    *length = is ? entry->second.size() : 0;
    return 0;
  };
  api.omap_iter_size = [](rados_omap_iter_t from) {
    return static_cast<unsigned int>(static_cast<Entries*>(from)->entries.size());
  };
  api.omap_get_end = [](rados_omap_iter_t from) { delete static_cast<Entries*>(from); };

  api.write_op_operate = [](rados_write_op_t op, rados_ioctx_t context, const char* object, time_t*,
                            int) {
    auto& client = *static_cast<Client*>(context);
    return client.cluster->SendAndWait(client, object, true, static_cast<WriteOp*>(op)->steps,
                                       nullptr);
  };
  api.read_op_operate = [](rados_read_op_t op, rados_ioctx_t context, const char* object, int) {
    auto& client = *static_cast<Client*>(context);
    auto* const read = static_cast<ReadOp*>(op);
    return client.cluster->SendAndWait(client, object, false, read->steps, read->readers);
  };
  api.aio_write_op_operate = [](rados_write_op_t op, rados_ioctx_t context, rados_completion_t done,
                                const char* object, time_t*, int) {
    return SendLater(context, done, object, true, static_cast<WriteOp*>(op)->steps, nullptr);
  };
  api.aio_read_op_operate = [](rados_read_op_t op, rados_ioctx_t context, rados_completion_t done,
                               const char* object, int) {
    auto* const read = static_cast<ReadOp*>(op);
    return SendLater(context, done, object, false, read->steps, read->readers);
  };
  api.aio_create_completion2 = [](void* argument, rados_callback_t call, rados_completion_t* to) {
    *to = new Completion{argument, call};
    return 0;
  };
  api.aio_release = &Release;
  api.aio_get_return_value = [](rados_completion_t done) {
    return static_cast<Completion*>(done)->result;
  };
  // Processes of a simulation tell each other nothing.
  api.aio_watch2 = [](rados_ioctx_t, const char*, rados_completion_t, uint64_t*, rados_watchcb2_t,
                      rados_watcherrcb_t, uint32_t, void*) { return Unsupported(); };
  api.aio_unwatch = [](rados_ioctx_t, uint64_t, rados_completion_t) { return Unsupported(); };
  api.aio_notify = [](rados_ioctx_t, const char*, rados_completion_t, const char*, int, uint64_t,
                      char**, size_t*) { return Unsupported(); };
  api.notify_ack = [](rados_ioctx_t, const char*, uint64_t, uint64_t, const char*, int) {
    return Unsupported();
  };
  api.watch_flush = [](rados_t) { return 0; };
  return api;
}

const RadosApi& FakeCluster::api() {
  static const RadosApi api = FakeApi::Make();
  return api;
}

}  // namespace stator::kv_rados
