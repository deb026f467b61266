// Operations as data: name, decoder, handler, renderer. Clients can call only registered
// operations.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/decode.h"
#include "api/render_response.h"
#include "api/request_tap.h"
#include "base/long_work.h"
#include "base/memory_account.h"
#include "base/out_of_memory.h"
#include "guard/requests.h"
#include "ops/answer_bytes.h"
#include "ops/context.h"
#include "simdjson.h"

namespace stator::api {

enum class Access : uint8_t { kRead, kWrite };
// What an operation works on. An operation on definitions may block on the engine, if the engine is
// `blocking`; so it must run on a thread that may wait.
enum class Subject : uint8_t { kItems, kDefinitions };
// The prefix of X-Amz-Target.
enum class Api : uint8_t { kDynamoDb, kStreams };

// One request on its way through an operation. Exactly one of Succeed and Fail is called, on the
// loop's thread. If the call is destroyed before, there is no answer, and the transport's callback
// is destroyed uncalled.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
  // Returns the context, which lives as long as the call: until the operation destroys its
  // callback.
  virtual ops::Context& context() = 0;
  virtual void NoteTable(std::string_view table) = 0;
  // `items`: how many items the reply holds.
  virtual void Succeed(std::string body, int64_t items) = 0;
  virtual void Fail(const Error& error) = 0;
  // Frees the parsed JSON document. Called before the answer, when the request has been decoded or
  // could not be.
  virtual void Decoded() {}
  // Returns true if memory is so short that the answer of a read must be refused instead of
  // rendered. Thread-safe.
  virtual bool RefusesAnswer() const { return false; }
  // Counts at least `bytes` of a waiting answer in the account of memory. Returns false if there is
  // no room for them; then the answer of a read is refused.
  virtual bool CountAnswer(int64_t) { return true; }

  // Decides whether the caller may do what the typed request asks for; null: everything is allowed.
  // Used before the operation begins, never later.
  guard::Check* check = nullptr;
};

struct Operation {
  std::string_view name;
  Access access = Access::kRead;
  Api api = Api::kDynamoDb;
  Subject subject = Subject::kItems;
  // Decodes the body, runs the handler and renders its response. `body` is not used after Run
  // returns.
  void Run(simdjson::dom::element body, std::unique_ptr<PendingCall> call) const {
    run(handler, body, std::move(call), nullptr);
  }
  // Runs the operation, and tells `tap`, which must outlive the call, what the request did.
  void RunTapped(simdjson::dom::element body, std::unique_ptr<PendingCall> call,
                 RequestTap& tap) const {
    run_tapped(handler, body, std::move(call), &tap);
  }

  // The handler without its type, and the functions that know it.
  using AnyHandler = void (*)();
  using Runner = void (*)(AnyHandler, simdjson::dom::element, std::unique_ptr<PendingCall>,
                          RequestTap*);
  AnyHandler handler = nullptr;
  Runner run = nullptr;
  Runner run_tapped = nullptr;
};

namespace internal {

template <typename Response>
int64_t CountItems(const Response& response) {
  if constexpr (requires {
                  response.items;
                  response.count;
                }) {
    return response.items ? static_cast<int64_t>(response.items->size()) : 0;
  } else if constexpr (requires { response.items.size(); }) {
    return static_cast<int64_t>(response.items.size());
  } else if constexpr (requires { response.responses.front().item.has_value(); }) {
    int64_t count = 0;
    for (const auto& one : response.responses) count += one.item.has_value() ? 1 : 0;
    return count;
  } else if constexpr (requires { response.item.has_value(); }) {
    return response.item.has_value() ? 1 : 0;
  } else if constexpr (requires {
                         response.responses;
                         response.unprocessed_keys;
                       }) {
    int64_t count = 0;
    for (const auto& table : response.responses) count += static_cast<int64_t>(table.items.size());
    return count;
  } else if constexpr (requires { response.responses.front().has_value(); }) {
    int64_t count = 0;
    for (const auto& item : response.responses) count += item.has_value() ? 1 : 0;
    return count;
  } else {
    return 0;
  }
}

// Bytes of a reply, written when its items were read, that a loop's thread copies.
inline constexpr size_t kInlineCopyBytes = 1 << 20;

// What a record of a stream takes beside its keys and images: members with fixed names, digests and
// numbers.
inline constexpr size_t kRecordFrameBytes = 512;

// The bytes that a reply is rendered from, of responses that can hold many; of records those that
// it is rendered to, at most, for their keys may be all text that has to be escaped.
struct AnswerSize {
  size_t bytes = 0;
  bool written = false;  // they are JSON already, and rendering only copies them

  bool is_long() const { return bytes > (written ? kInlineCopyBytes : ops::kInlineReplyBytes); }
  bool is_quick() const { return written || bytes <= 2 * model::kMaxItemBytes; }
};

template <typename Response>
AnswerSize SizeOf(const Response& response) {
  AnswerSize size;
  const auto add = [&size](const auto& item) { size.bytes += item ? item->size() : 0; };
  if constexpr (requires { response.responses.front().items.front().size(); }) {
    for (const auto& table : response.responses) {
      for (const auto& item : table.items) size.bytes += item.size();
    }
  } else if constexpr (requires { response.responses.front()->size(); }) {
    for (const auto& item : response.responses) add(item);
  } else if constexpr (requires { response.responses.front().item->size(); }) {
    for (const auto& one : response.responses) add(one.item);
  } else if constexpr (requires { response.items->is_written(); }) {
    if (response.items) size = {response.items->bytes(), response.items->is_written()};
  } else if constexpr (requires { response.items.is_written(); }) {
    size.bytes = response.items.bytes();
  } else if constexpr (requires { response.records.front().new_image; }) {
    const auto add_rendered = [&size](std::string_view encoded) {
      size.bytes += static_cast<size_t>(ops::RenderedBound(encoded));
    };
    for (const auto& record : response.records) {
      size.bytes += kRecordFrameBytes;
      add_rendered(record.keys);
      if (record.new_image) add_rendered(*record.new_image);
      if (record.old_image) add_rendered(*record.old_image);
    }
  } else if constexpr (requires { response.item->size(); }) {
    add(response.item);
  } else if constexpr (requires { response.attributes->size(); }) {
    add(response.attributes);
  }
  return size;
}

template <typename Response>
void Answer(PendingCall& call, const Result<Response>& response) {
  if (!response.ok()) return call.Fail(response.error());
  if (call.RefusesAnswer()) [[unlikely]]
    return call.Fail(MemoryRefusal());
  std::string out;
  if (!RunOrOutOfMemory("rendering", [&] { RenderResponse(*response, &out); }))
    return call.Fail(InternalError("Out of memory while rendering a response"));
  call.Succeed(std::move(out), CountItems(*response));
}

// Renders a large response on a worker and returns true, if a worker takes it. The call is then
// destroyed in a later turn of its loop, because the operation still uses its context. Otherwise
// returns false and leaves both arguments unchanged.
template <typename Response>
bool AnswerElsewhere(std::unique_ptr<PendingCall>& call, Result<Response>& response) {
  if (!response.ok()) return false;
  const AnswerSize size = SizeOf(*response);
  if (!size.is_long()) return false;
  // Whether the operation has counted its answer, so that there is room for it.
  const MemoryLease* const lease = call->context().memory;
  const bool counted = lease != nullptr && lease->bytes() >= static_cast<int64_t>(size.bytes);
  if (!call->CountAnswer(static_cast<int64_t>(size.bytes)) || call->RefusesAnswer()) return false;
  struct Shared {
    std::unique_ptr<PendingCall> call;
    Result<Response> response;
    std::string out;
  };
  ops::Environment& env = call->context().env;
  Executor& loop = call->context().loop;
  auto shared = std::make_shared<Shared>(Shared{std::move(call), std::move(response), {}});
  UniqueFunction<void()> task = [shared, &loop, counted]() mutable {
    const int64_t items = CountItems(*shared->response);
    // Others may have taken the memory while it waited.
    const bool refused = !counted && shared->call->RefusesAnswer();
    const bool rendered = !refused && RunOrOutOfMemory("rendering", [&] {
      RenderResponse(*shared->response, &shared->out);
    });
    // The items are in the reply now, which may wait for its reader.
    shared->response = InternalError("");
    // No stand-in for the loop, which would wait where the system takes the processor from a thread
    // that has computed for long.
    const MustNotFail region("an answer goes to its loop");
    loop.Post([shared = std::move(shared), items, refused, rendered] {
      if (refused) return shared->call->Fail(MemoryRefusal());
      if (!rendered)
        return shared->call->Fail(InternalError("Out of memory while rendering a response"));
      shared->call->Succeed(std::move(shared->out), items);
    });
  };
  // Renderings of a few milliseconds do not wait behind evaluations of seconds.
  if (size.is_quick() && env.workers.TryPost(task)) return true;
  if (env.long_work.TryPostEnd(task)) return true;
  call = std::move(shared->call);
  response = std::move(shared->response);
  return false;
}

template <typename Request, typename Response, bool tapped>
void RunTyped(Operation::AnyHandler any, simdjson::dom::element body,
              std::unique_ptr<PendingCall> call, [[maybe_unused]] RequestTap* tap) {
  Result<Request> request = Decode<Request>(body);
  call->Decoded();
  if (!request.ok()) return call->Fail(request.error());
  if constexpr (requires { std::string_view(request->table_name); })
    call->NoteTable(request->table_name);
  if (call->check != nullptr) [[unlikely]] {
    const Status allowed = guard::Authorize(*call->check, *request);
    if (!allowed.ok()) return call->Fail(allowed.error());
    call->check = nullptr;
  }
  using Handler = void (*)(ops::Context&, Request, ops::Callback<Response>);
  ops::Context& context = call->context();
  if constexpr (tapped && Tapped<Request>) {
    context.item_writer = nullptr;  // a trace looks at the items of the answer
    auto trace = std::make_unique<Trace>(context, &*request);
    reinterpret_cast<Handler>(any)(
        context, *std::move(request),
        [call = std::move(call), trace = std::move(trace), tap](Result<Response> response) mutable {
          tap->Take(std::move(*trace).Finish(&response));
          if (!AnswerElsewhere(call, response)) Answer(*call, response);
        });
  } else {
    reinterpret_cast<Handler>(any)(context, *std::move(request),
                                   [call = std::move(call)](Result<Response> response) mutable {
                                     if (!AnswerElsewhere(call, response)) Answer(*call, response);
                                   });
  }
}

}  // namespace internal

// Built once, before the first request; then only read, from any thread.
class Registry {
 public:
  // `name` must be a literal. A name registered again replaces the former.
  template <typename Request, typename Response>
  void Register(std::string_view name, Access access,
                void (*handler)(ops::Context&, Request, ops::Callback<Response>),
                Api api = Api::kDynamoDb, Subject subject = Subject::kItems) {
    Add(Operation{name, access, api, subject, reinterpret_cast<Operation::AnyHandler>(handler),
                  &internal::RunTyped<Request, Response, false>,
                  &internal::RunTyped<Request, Response, true>});
  }

  // The operation of an X-Amz-Target such as "DynamoDB_20120810.GetItem"; null if there is none.
  const Operation* Find(std::string_view target) const;
  // Returns all operations, the shortest names first.
  std::vector<Operation> All() const;

 private:
  void Add(Operation operation);

  static constexpr size_t kMaxNameLength = 63;
  std::array<std::vector<Operation>, kMaxNameLength + 1> by_length_;
};

// Everything this server can do: the one list of operations.
void RegisterAll(Registry* registry);

}  // namespace stator::api
