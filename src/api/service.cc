#include "api/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "api/attribute_json.h"
#include "api/audit_draft.h"
#include "api/error_render.h"
#include "api/forwarded_entry.h"
#include "base/accept_encoding.h"
#include "base/ascii.h"
#include "base/compress.h"
#include "base/count_bytes.h"
#include "base/log.h"
#include "base/out_of_memory.h"
#include "base/printable.h"
#include "guard/check.h"
#include "ops/as_of.h"
#include "ops/checks.h"
#include "ops/isolated_accounts.h"
#include "table/store.h"

namespace stator::api {
namespace {

constexpr std::string_view kJson10 = "application/x-amz-json-1.0";
constexpr std::string_view kPlainJson = "application/json";
// Bytes of an origin in the text of a refusal.
constexpr size_t kShownOrigin = 200;
constexpr std::string_view kExposedHeaders =
    "x-amzn-RequestId,x-amzn-ErrorType,x-amz-request-id,x-amz-id-2,x-amzn-ErrorMessage,x-amz-crc32,"
    "Date";

static_assert(kBodyPadding >= simdjson::SIMDJSON_PADDING);

// 52 characters that look like the service's: base 32 with digits and A to V, 260 random bits.
std::string MakeRequestId(Random& random) {
  constexpr char kDigits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
  std::string id(52, '0');
  uint64_t bits = 0;
  for (size_t i = 0; i < id.size(); ++i) {
    if (i % 12 == 0) bits = random.Next();
    id[i] = kDigits[bits & 31];
    bits >>= 5;
  }
  return id;
}

std::string Decimal(uint32_t value) {
  char digits[10];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return std::string(digits, end);
}

// Returns the thread's parser. A document lives in it until the next Parse on this thread, or until
// TrimParser.
simdjson::dom::parser& Parser() {
  thread_local simdjson::dom::parser parser;
  return parser;
}

// Frees the thread's parser if a huge request has made it large, so that not every thread keeps
// that memory.
void TrimParser() {
  constexpr size_t kKeepBytes = 1u << 20;
  if (Parser().capacity() > kKeepBytes) Parser() = simdjson::dom::parser();
}

// Returns an upper estimate of the memory that the parsed document of this text takes. simdjson
// takes 4 bytes for each punctuation mark and each beginning of a value, 8 for each end of a
// container and for a string, and 16 for a number. It copies strings, with 3 bytes more than their
// quoted text has. Each comma and each container is followed by at most one value that is no
// container; a colon is behind a name.
int64_t DocumentBytes(std::string_view text) {
  const size_t commas = CountBytes(text, [](auto c) { return c == uint8_t{','}; });
  const size_t colons = CountBytes(text, [](auto c) { return c == uint8_t{':'}; });
  const size_t containers =
      CountBytes(text, [](auto c) { return (c == uint8_t{'['}) | (c == uint8_t{'{'}); });
  return static_cast<int64_t>(text.size() + 27 * commas + 19 * colons + 24 * containers);
}

// Calls TrimParser at the end of a request. The parsed form of a huge body takes up to 10 times its
// bytes.
struct ParserLease {
  ~ParserLease() { TrimParser(); }
};

Status ParseJson(std::string_view body, simdjson::dom::element* root) {
  simdjson::dom::parser& parser = Parser();
  const simdjson::error_code code =
      parser.parse(body.data(), body.size(), /*realloc_if_needed=*/false).get(*root);
  if (code == simdjson::MEMALLOC) return InternalError("Out of memory while parsing a request");
  if (code != simdjson::SUCCESS || !root->is_object()) return Error(ErrorCode::kSerialization, "");
  return OkStatus();
}

}  // namespace

void RequestHeaders::Add(std::string_view name, std::string_view value) {
  const auto take = [&](std::string_view lower, std::string_view* member) {
    if (member->empty() && EqualsLower(name, lower)) *member = value;
  };
  switch (name.size()) {
    case 4: take("host", &host); return take("date", &date);
    case 6: return take("origin", &origin);
    case 10: return take("x-amz-date", &x_amz_date);
    case 12: take("x-amz-target", &target); return take("content-type", &content_type);
    case 13: return take("authorization", &authorization);
    case 14: return take("x-stator-as-of", &as_of);
    case 15: return take("accept-encoding", &accept_encoding);
    case 16: return take("content-encoding", &content_encoding);
    case 29: return take("access-control-request-method", &access_control_request_method);
    case 30: return take("access-control-request-headers", &access_control_request_headers);
    default: return;
  }
}

// What a reply takes over from its request.
struct Service::Frame {
  std::string_view content_type =
      kJson10;                 // one of the two literals; empty: neither, so this is no API request
  std::string allowed_origin;  // empty: no CORS headers
  bool refused = false;        // comes from a page that may not call
  bool gzip = false;
  bool deflate = false;
};

// Errors that may come from a definition that another process has changed meanwhile: of a table, an
// index, a key.
bool MayBeOutOfDate(ErrorCode code) {
  return code == ErrorCode::kResourceNotFound || code == ErrorCode::kFenced ||
         code == ErrorCode::kValidation;
}

// Counts the memory of a large request: the parsed document (*document), which exists only while
// the request is decoded, and the decoded form, which exists until the reply. `inflated`: bytes
// that decompression made. Returns an error, which becomes a 503, if there is no room. May block: a
// large document waits for its turn.
Status CountDocument(MemoryLease* lease, std::string_view text, size_t inflated,
                     DocumentTurns* turns, DocumentTurns::Turn* turn, int64_t* document) {
  if (lease == nullptr || text.size() <= MemoryAccount::kSmallBytes) return OkStatus();
  const auto size = static_cast<int64_t>(text.size());
  const int64_t parsed = DocumentBytes(text);
  *turn = turns->Take(parsed);
  const int64_t bytes = parsed + static_cast<int64_t>(inflated);
  // The oldest body of all is decoded in any case, unless it becomes much larger by that.
  const bool ordinary = bytes <= 4 * size;
  if (!lease->TryGrow(bytes, ordinary)) return MemoryRefusal();
  *document = bytes;
  return lease->TryGrow(size, ordinary) ? OkStatus() : MemoryRefusal();
}

// One request in the hands of an operation.

class Service::Call final : public PendingCall, public ops::WriteForwarder {
 public:
  Call(Service& service, Executor& loop, Frame frame, int64_t started, size_t request_bytes,
       UniqueFunction<void(Outgoing)> done)
      : service_(service),
        context_{.env = service.environment_, .loop = loop, .item_writer = WriteListedItem},
        frame_(std::move(frame)),
        started_(started),
        request_bytes_(request_bytes),
        done_(std::move(done)) {}
  Call(Call&&) = default;
  ~Call() override {
    if (forwarded_) forwarded_(ForwardedAnswer());
    if (done_) LogError("request_dropped", {{"operation", operation_name()}, {"table", table_}});
  }

  void SetOperation(const Operation* operation) {
    operation_ = operation;
    context_.operation = operation->name;
  }

  ops::Context& context() override { return context_; }
  void NoteTable(std::string_view table) override {
    if (service_.observer_ == nullptr) return;
    table_ = table;
    if (!context_.tells_accounts && !is_isolated()) return;
    // The name in the store, which differs for tables of different accounts.
    if (const auto name = ops::StoreNameOf(context_, table); name.ok()) table_ = name->view();
  }
  // Runs the request in the account of its access key, which is kept until the answer.
  void UseAccount(ops::IsolatedAccounts::Use use) {
    context_.account = use.account();
    use_ = std::move(use);
  }
  // Begins the record of the request, if it is to have one.
  void BeginAudit(const Incoming& request) {
    audit_ = AuditDraft::Begin(service_.options_, service_.environment_, *operation_, request);
  }
  // Lets other processes run the write. `text` is the body as it is decoded.
  void MayForward(std::string_view target, std::string_view text) {
    context_.forwarder = this;
    target_ = target;
    text_ = text;
  }
  bool TryForward(std::span<const ops::WrittenItem> items,
                  UniqueFunction<void()>& run_here) override {
    // The other process takes names as the default account's.
    if (!context_.account.empty() ||
        std::any_of(items.begin(), items.end(), [](const ops::WrittenItem& item) {
          return table::IsOfOtherAccount(item.table->descriptor.name);
        }))
      return false;
    Forwarding& forwarding = *service_.forwarding_;
    const WriteOwner owner = forwarding.OwnerOf(items);
    if (owner.process.empty()) return false;
    // Owns this call.
    auto kept = std::make_shared<UniqueFunction<void()>>(std::move(run_here));
    ForwardedDone done = [this, kept](ForwardedAnswer answer) mutable {
      Executor& loop = context_.loop;
      PostAndStandIn(loop, [this, kept = std::move(kept), answer = std::move(answer)]() mutable {
        if (answer.kind == ForwardedAnswer::Kind::kRefused) return (*kept)();
        TakeForwarded(std::move(answer));
      });
    };
    if (forwarding.Send(owner, items, target_, text_, done)) return true;
    run_here = std::move(*kept);
    return false;
  }
  bool TryForwardEntry(const table::Table& table, std::string_view key, bool put,
                       model::ItemView item, EntryDone& done) override {
    if (!context_.account.empty()) return false;
    return ForwardEntry(*service_.forwarding_, context_.loop, table, key, put, item, done);
  }
  // Makes it the call of a write that another process has handed over.
  void AnswerTo(ForwardedDone forwarded, std::shared_ptr<const kv::BatchFate> permit) {
    forwarded_ = std::move(forwarded);
    context_.permit = std::move(permit);
  }
  void RefuseForwarded() {
    ForwardedAnswer refusal;
    refusal.kind = ForwardedAnswer::Kind::kRefused;
    ForwardedDone(std::move(forwarded_))(std::move(refusal));
  }

  // True if this runs in an I/O loop: work that takes long is then refused, and the request is
  // handed in again on another thread.
  bool in_loop = false;
  AuditDraft* audit() { return audit_.get(); }
  // Keeps the lease until the reply. `document_bytes` of it, and `turn`, are given back when the
  // request is decoded.
  void CountMemory(MemoryLease* lease, int64_t document_bytes, DocumentTurns::Turn turn) {
    context_.memory = lease;
    document_bytes_ = document_bytes;
    turn_ = std::move(turn);
  }
  void Decoded() override {
    if (document_bytes_ == 0) return;
    TrimParser();
    context_.memory->Shrink(std::exchange(document_bytes_, 0));
    turn_.End();
  }
  bool RefusesAnswer() const override {
    return answer_refused_ || (context_.memory != nullptr && operation_->access == Access::kRead &&
                               context_.memory->account_full());
  }
  // Counts only what the operation has not counted of its answer yet.
  bool CountAnswer(int64_t bytes) override {
    if (context_.memory == nullptr) return true;
    const int64_t more = bytes - context_.memory->bytes();
    if (more <= 0 || context_.memory->TryGrow(more)) return true;
    // The answer of a write is never refused: the write is done.
    answer_refused_ = operation_->access == Access::kRead;
    return !answer_refused_;
  }
  void Succeed(std::string body, int64_t items) override {
    // It may wait for a worker that compresses it, and for its reader.
    if (body.size() > static_cast<size_t>(MemoryAccount::kSmallBytes) &&
        !CountAnswer(static_cast<int64_t>(body.size())))
      return Fail(MemoryRefusal());
    if (!context_.faults.lost) return Answer(200, "", std::move(body), items);
    context_.faults.refused = true;
    Fail(InternalError(""));
  }
  void Fail(const Error& error) override {
    // Neither has applied anything.
    if (forwarded_ &&
        ((context_.permit->failed.load() && error.code() == ErrorCode::kUnavailable) ||
         (!context_.catalog_known && MayBeOutOfDate(error.code())))) {
      return RefuseForwarded();
    }
    const bool takes_long = in_loop && error.code() == ErrorCode::kWouldBlock;
    if (takes_long || (!context_.catalog_known && MayBeOutOfDate(error.code()))) {
      UniqueFunction<void(Outgoing)> done = std::move(done_);
      if (!done) return;
      Outgoing again;
      again.again = true;
      return done(std::move(again));
    }
    const int64_t shown = RenderedBytes(error);
    if (shown <= kShortErrorBytes) return FailWith(error, RenderError(error));
    // The request has changed nothing, and may be refused yet.
    if (!CountShown(shown)) return Fail(MemoryRefusal());
    if (!FailElsewhere(error)) FailWith(error, RenderError(error));
  }

 private:
  // Whether the request is one of an isolated account.
  bool is_isolated() const { return !context_.tells_accounts && !context_.account.empty(); }
  // Counts the items that an error shows. False: there is no room for them.
  bool CountShown(int64_t bytes) {
    if (context_.memory == nullptr) return true;
    const int64_t more = bytes - context_.memory->bytes();
    return more <= 0 || context_.memory->TryGrow(more);
  }

  void FailWith(const Error& error, RenderedError rendered) {
    if (service_.options_.audit != nullptr) [[unlikely]]
      NoteError(error);
    if (IsServerFault(error.code()) && !context_.faults.refused) {
      const std::string_view code = ErrorCodeName(error.code());
      service_.failure_log_.Log(LogLevel::kError, fmt::format("{} {}", operation_name(), code),
                                "request_failed",
                                {{"operation", operation_name()},
                                 {"table", table_},
                                 {"code", code},
                                 {"message", error.message()}});
    }
    Answer(rendered.status, rendered.name, std::move(rendered.body), 0);
  }

  // Moves the call to a worker, which runs `work(call)`, and from there into its loop's turn, which
  // runs `then(call)`; its owner may let go of it meanwhile. Where the memory for `work` is missing
  // the call is dropped there, which answers it with 500. Returns false, and leaves the call as it
  // was, if no worker takes it. `what` is a literal.
  template <typename Work, typename Then>
  bool GoElsewhere(const char* what, Work work, Then then) {
    auto call = std::make_shared<Call>(std::move(*this));
    UniqueFunction<void()> task = [call, what, work, then]() mutable {
      const bool worked = RunOrOutOfMemory(what, [&] { work(*call); });
      // Nothing of the call stays on this thread.
      const MustNotFail region("an answer goes to its loop");
      Executor& loop = call->context_.loop;
      loop.Post([call = std::move(call), then = std::move(then), worked]() mutable {
        if (worked) then(*call);
      });
    };
    if (context_.env.long_work.TryPostEnd(task)) return true;
    done_ = std::move(call->done_);
    audit_ = std::move(call->audit_);
    forwarded_ = std::move(call->forwarded_);
    return false;
  }

  // Renders the error on a worker. Returns false if none takes it.
  bool FailElsewhere(const Error& error) {
    auto rendered = std::make_shared<std::optional<RenderedError>>();
    return GoElsewhere(
        "rendering an error", [rendered, error](Call&) { *rendered = RenderError(error); },
        [rendered, error](Call& call) { call.FailWith(error, std::move(**rendered)); });
  }

  std::string_view operation_name() const {
    return operation_ == nullptr ? std::string_view() : operation_->name;
  }

  void NoteError(const Error& error) {
    // A denial has a record even where others on items have none.
    if (audit_ == nullptr && check != nullptr && error.code() == ErrorCode::kAccessDenied)
      audit_ = AuditDraft::OfDenial(service_.options_, service_.environment_, *operation_, *check);
    if (audit_ != nullptr) audit_->NoteError(error);
  }

  void TakeForwarded(ForwardedAnswer answer) {
    if (answer.kind == ForwardedAnswer::Kind::kUnknown) {
      return Fail(Error(ErrorCode::kOutcomeUnknown,
                        "The server that ran the write does not answer. The write may or may not "
                        "have been applied."));
    }
    if (answer.error.empty()) return Succeed(std::move(answer.body), answer.items);
    // The call may move; the name stays where it is.
    forwarded_error_ = std::make_shared<const std::string>(std::move(answer.error));
    Answer(answer.status, *forwarded_error_, std::move(answer.body), answer.items);
  }

  void Answer(int status, std::string_view error, std::string body, int64_t items) {
    if (forwarded_) {
      return ForwardedDone(std::move(forwarded_))(ForwardedAnswer{
          ForwardedAnswer::Kind::kAnswered, status, std::string(error), std::move(body), items});
    }
    if (!done_) return;
    if (service_.IsLong(frame_, body.size()) && WrapElsewhere(status, error, &body, items)) return;
    Send(status, error, items, service_.Wrap(frame_, status, std::move(body)));
  }

  // Compresses and checks a large body on a worker. Returns false, and leaves the body as it was,
  // if none takes it.
  bool WrapElsewhere(int status, std::string_view error, std::string* body, int64_t items) {
    struct Wrapping {
      std::string body;
      Outgoing outgoing;
    };
    auto wrapping = std::make_shared<Wrapping>(Wrapping{std::move(*body), {}});
    const bool gone = GoElsewhere(
        "compressing a response",
        [wrapping, status](Call& call) {
          wrapping->outgoing = call.service_.Wrap(call.frame_, status, std::move(wrapping->body));
        },
        [wrapping, status, error, items](Call& call) {
          call.Send(status, error, items, std::move(wrapping->outgoing));
        });
    if (!gone) *body = std::move(wrapping->body);
    return gone;
  }

  void Send(int status, std::string_view error, int64_t items, Outgoing outgoing) {
    // The operation has ended; a delay of its answer is the client's alone.
    use_.End();
    if (service_.observer_ != nullptr) {
      RequestRecord record;
      record.operation = operation_name();
      // Thousands of isolated accounts must not make thousands of series.
      if (!is_isolated()) record.table = table_;
      record.error = error;
      record.status = status;
      record.write = operation_ != nullptr && operation_->access == Access::kWrite;
      record.latency_micros =
          service_.environment_.clock.TicksMicros() - started_ + context_.faults.delay_micros;
      record.request_bytes = request_bytes_;
      record.reply_bytes = outgoing.body.size();
      record.items = items;
      service_.observer_->OnRequest(record);
    }
    if (audit_ != nullptr) [[unlikely]]
      return SendAudited(error, std::move(outgoing));
    Deliver(std::move(outgoing));
  }

  // Hands the record over. The answer to a change waits for it: the call, whose owner may let go of
  // it meanwhile, leaves a copy of itself behind that ends in the loop's turn.
  void SendAudited(std::string_view error, Outgoing outgoing) {
    const std::unique_ptr<AuditDraft> draft = std::move(audit_);
    if (!draft->is_change()) {
      draft->Finish(error, outgoing.headers, nullptr);
      return Deliver(std::move(outgoing));
    }
    struct Rest {
      Call call;
      Outgoing outgoing;
    };
    auto rest = std::make_shared<Rest>(Rest{Call(std::move(*this)), std::move(outgoing)});
    const AuditDraft::Headers& headers = rest->outgoing.headers;
    draft->Finish(error, headers, [rest]() mutable {
      Executor& loop = rest->call.context_.loop;
      PostAndStandIn(loop,
                     [rest = std::move(rest)] { rest->call.Deliver(std::move(rest->outgoing)); });
    });
  }

  void Deliver(Outgoing outgoing) {
    UniqueFunction<void(Outgoing)> done = std::move(done_);
    if (context_.faults.delay_micros > 0) {
      service_.environment_.faults.timer().After(
          context_.faults.delay_micros, context_.loop,
          [done = std::move(done), outgoing = std::move(outgoing)]() mutable {
            done(std::move(outgoing));
          });
      return;
    }
    done(std::move(outgoing));
  }

  Service& service_;
  ops::Context context_;
  Frame frame_;
  const Operation* operation_ = nullptr;
  std::string table_;
  ops::IsolatedAccounts::Use use_;
  const int64_t started_;
  const size_t request_bytes_;
  int64_t document_bytes_ = 0;
  bool answer_refused_ = false;
  std::unique_ptr<AuditDraft> audit_;  // null: the request leaves no record
  DocumentTurns::Turn turn_;
  std::string_view target_;  // this and the next: while the request is being handed in
  std::string_view text_;
  std::shared_ptr<const std::string> forwarded_error_;  // as another process named it
  ForwardedDone forwarded_;                             // null: the call is a client's
  UniqueFunction<void(Outgoing)> done_;
};

Service::Service(ops::Environment& environment, Registry registry,
                 std::unique_ptr<Authenticator> authenticator, ServiceOptions options,
                 RequestObserver* observer, RequestTap* tap)
    : environment_(environment),
      registry_(std::move(registry)),
      authenticator_(std::move(authenticator)),
      options_(std::move(options)),
      observer_(observer),
      tap_(tap),
      failure_log_(environment.clock) {}

Service::~Service() = default;

bool Service::MayWait(std::string_view target) const {
  const Operation* operation = registry_.Find(target);
  return operation != nullptr && operation->subject == Subject::kDefinitions;
}

void Service::Handle(const Incoming& request, Executor& loop, UniqueFunction<void(Outgoing)> done) {
  // If memory runs out, the callback is called with an error, or destroyed uncalled, which the
  // transport answers with an error.
  RunOrOutOfMemory("handling", [&] { HandleOrThrow(request, loop, std::move(done)); });
}

void Service::HandleOrThrow(const Incoming& request, Executor& loop,
                            UniqueFunction<void(Outgoing)> done) {
  Frame frame = FrameFor(request.headers);
  const std::string_view path = request.target.substr(0, request.target.find('?'));
  if (request.method != "POST" || path != "/" || frame.content_type.empty()) {
    done(AnswerOther(request, frame));
    return;
  }
  if (frame.refused) [[unlikely]] {
    done(RefuseOrigin(request, std::move(frame)));
    return;
  }
  const int64_t started = observer_ == nullptr ? 0 : environment_.clock.TicksMicros();
  auto call = std::make_unique<Call>(*this, loop, std::move(frame), started, request.body.size(),
                                     std::move(done));
  std::string decompressed;
  DocumentTurns::Turn turn;
  const ParserLease lease;
  simdjson::dom::element body;
  int64_t document_bytes = 0;
  std::string_view text;
  Result<const Operation*> operation =
      Admit(request, &decompressed, &document_bytes, &turn, &body, &text);
  if (!operation.ok()) return call->Fail(operation.error());
  call->SetOperation(*operation);
  call->CountMemory(request.memory, document_bytes, std::move(turn));
  if (options_.audit != nullptr) [[unlikely]]
    call->BeginAudit(request);
  std::optional<access::HttpRequestView> http;
  std::optional<guard::Check> check;
  if (options_.gate != nullptr) [[unlikely]] {
    // As sent: a compressed body is signed compressed.
    http = access::HttpRequestView{request.method, request.target, request.lines, request.body};
    Result<access::VerifiedRequest> verified = options_.gate->Verify(*http, "dynamodb");
    if (!verified.ok()) return call->Fail(verified.error());
    check.emplace(*options_.gate, *std::move(verified), environment_, (*operation)->name, *http,
                  request.peer);
    call->check = &*check;
    if (check->caller() != nullptr) {
      call->context().account = check->other_account();
      call->context().tells_accounts = true;
    }
    if (request.in_loop) check->StayInLoop();
    call->in_loop = request.in_loop;
    if (call->audit() != nullptr) [[unlikely]] {
      call->audit()->Join(&*check, body);
      if (const Status may = call->audit()->Permit(); !may.ok()) return call->Fail(may.error());
    }
  } else {
    const AuthRequest auth{request.headers.authorization, request.headers.x_amz_date,
                           request.headers.date,
                           request.target.substr(std::min(path.size() + 1, request.target.size()))};
    const Status allowed = authenticator_->Authenticate(auth);
    if (!allowed.ok()) return call->Fail(allowed.error());
    if (options_.isolated != nullptr) {
      Result<ops::IsolatedAccounts::Use> use = options_.isolated->Enter(ClaimedKeyId(auth));
      if (!use.ok()) return call->Fail(use.error());
      call->UseAccount(*std::move(use));
    }
  }
  if (!request.headers.as_of.empty()) [[unlikely]] {
    if (!ops::ReadsPast((*operation)->name) || (*operation)->api != Api::kDynamoDb)
      return call->Fail(ops::RefuseAsOf((*operation)->name));
    const Result<int64_t> millis = ops::ParseMoment(ops::kAsOfHeader, request.headers.as_of);
    if (!millis.ok()) return call->Fail(millis.error());
    call->context().as_of_millis = *millis;
    if (check) check->AskPast();
  }
  if (environment_.store.shared()) {
    // Other processes change the catalog too.
    if (request.may_wait || (*operation)->subject == Subject::kDefinitions) {
      if (const Status known = environment_.store.Refresh(); !known.ok())
        return call->Fail(known.error());
    } else {
      call->context().catalog_known = false;
    }
  }
  if (tap_ != nullptr && tap_->on()) [[unlikely]] {
    (*operation)->RunTapped(body, std::move(call), *tap_);
  } else {
    // A record of a write in the audit log needs the error as it was, which does not travel.
    if (forwarding_ != nullptr && (*operation)->access == Access::kWrite &&
        call->audit() == nullptr)
      call->MayForward(request.headers.target, text);
    (*operation)->Run(body, std::move(call));
  }
}

void Service::HandleForwarded(std::string_view target, std::string_view body,
                              std::shared_ptr<const kv::BatchFate> permit, Executor& loop,
                              ForwardedDone done) {
  // A call that is destroyed without an answer gives one of an unknown outcome.
  auto call = std::make_unique<Call>(*this, loop, Frame(), 0, body.size(), nullptr);
  call->AnswerTo(std::move(done), std::move(permit));
  RunOrOutOfMemory("handling a forwarded write", [&] {
    const ParserLease lease;
    simdjson::dom::element document;
    const Operation* const operation = registry_.Find(target);
    if (operation == nullptr || !ParseJson(body, &document).ok()) return call->RefuseForwarded();
    call->SetOperation(operation);
    call->context().catalog_known = !environment_.store.shared();
    operation->Run(document, std::move(call));
  });
}

Result<const Operation*> Service::Admit(const Incoming& request, std::string* decompressed,
                                        int64_t* document_bytes, DocumentTurns::Turn* turn,
                                        simdjson::dom::element* body, std::string_view* text) {
  if (request.body.size() > options_.max_body_bytes) {
    return Error(ErrorCode::kRequestTooLarge, "Request body is too large");
  }
  *text = request.body;
  const std::string_view encoding = request.headers.content_encoding;
  if (!encoding.empty() && !EqualsLower(encoding, "identity")) {
    const bool gzip = EqualsLower(encoding, "gzip");
    // It is the client's fault, so the status must not be 500, after which SDKs repeat the request.
    if (!gzip && !EqualsLower(encoding, "deflate"))
      return Error(ErrorCode::kSerialization, "Content-Encoding is not gzip, deflate or identity");
    ASSIGN_OR_RETURN(*decompressed, Decompress(gzip ? Encoding::kGzip : Encoding::kDeflate, *text,
                                               options_.max_body_bytes));
    const size_t size = decompressed->size();
    decompressed->append(kBodyPadding, '\0');
    *text = std::string_view(*decompressed).substr(0, size);
  }
  TRY(CountDocument(request.memory, *text, decompressed->capacity(), &turns_, turn,
                    document_bytes));
  TRY(ParseJson(*text, body));
  const Operation* operation = registry_.Find(request.headers.target);
  if (operation == nullptr) return Error(ErrorCode::kUnknownOperation, "");
  return operation;
}

Service::Frame Service::FrameFor(const RequestHeaders& headers) const {
  Frame frame;
  const std::string_view type =
      Trim(headers.content_type.substr(0, headers.content_type.find(';')), " ");
  if (!EqualsLower(type, kJson10))
    frame.content_type = EqualsLower(type, kPlainJson) ? kPlainJson : std::string_view();
  if (!headers.accept_encoding.empty()) {
    frame.gzip = AcceptsEncoding(headers.accept_encoding, "gzip");
    frame.deflate = !frame.gzip && AcceptsEncoding(headers.accept_encoding, "deflate");
  }
  if (!headers.origin.empty()) {
    if (options_.origins.Allows(headers.origin)) {
      frame.allowed_origin = options_.origins.any() ? "*" : headers.origin;
    } else {
      frame.refused =
          !IsSameOrigin(headers.origin, headers.host) || !options_.hosts.Allows(headers.host);
    }
  }
  return frame;
}

// Whether compressing the body, or its checksum, takes a thread about a millisecond and more.
bool Service::IsLong(const Frame& frame, size_t body_bytes) const {
  constexpr size_t kLongToCompress = 64 << 10;
  constexpr size_t kLongToSum = 1 << 20;
  return body_bytes > (frame.gzip || frame.deflate ? kLongToCompress : kLongToSum);
}

Outgoing Service::Wrap(const Frame& frame, int status, std::string body) const {
  Outgoing out;
  out.status = status;
  out.headers.reserve(6);
  if (!frame.content_type.empty()) out.headers.emplace_back("Content-Type", frame.content_type);
  if (body.size() > options_.compress_above_bytes && (frame.gzip || frame.deflate)) {
    body = frame.gzip ? Gzip(body) : Deflate(body);
    out.headers.emplace_back("Content-Encoding", frame.gzip ? "gzip" : "deflate");
  }
  out.headers.emplace_back("x-amzn-RequestId", MakeRequestId(environment_.random));
  // Clients compare it with the bytes on the wire, before they decompress.
  out.headers.emplace_back("x-amz-crc32", Decimal(Crc32(body)));
  if (!frame.allowed_origin.empty()) {
    out.headers.emplace_back("Access-Control-Allow-Origin", frame.allowed_origin);
    out.headers.emplace_back("Access-Control-Expose-Headers", kExposedHeaders);
    if (!options_.origins.any()) out.headers.emplace_back("Vary", "Origin");
  }
  out.body = std::move(body);
  return out;
}

// The browser alone would not do: it hides an answer from the page, but has sent the request by
// then.
Outgoing Service::RefuseOrigin(const Incoming& request, Frame frame) {
  const std::string_view origin = request.headers.origin, host = request.headers.host;
  failure_log_.Log(LogLevel::kWarn, "origin_refused", "origin_refused",
                   {{"origin", origin},
                    {"host", host},
                    {"hint", "--cors names the origins whose pages may call this server"}});
  if (frame.content_type.empty()) frame.content_type = kJson10;
  std::string body = R"({"__type":"com.amazon.coral.service#AccessDeniedException","Message":)";
  AppendJsonString(
      &body,
      fmt::format("The page at {} may not call this server. Start it with --cors=local,{} to "
                  "allow that origin.",
                  Printable(origin.substr(0, kShownOrigin)),
                  Printable(origin.substr(0, kShownOrigin))));
  body.push_back('}');
  return Wrap(frame, 403, std::move(body));
}

// Everything that is no API request: health probes, CORS preflights, and the rest.
Outgoing Service::AnswerOther(const Incoming& request, const Frame& frame) {
  const std::string_view path = request.target.substr(0, request.target.find('?'));
  Frame text_frame = frame;
  text_frame.content_type = "text/plain";
  if (path == "/" && (request.method == "GET" || request.method == "HEAD")) {
    return Wrap(text_frame, 200,
                "healthy: dynamodb." + environment_.settings.region + ".amazonaws.com ");
  }
  if (path == "/" && request.method == "OPTIONS" && frame.refused)
    return RefuseOrigin(request, frame);
  if (path == "/" && request.method == "OPTIONS" && !frame.allowed_origin.empty()) {
    text_frame.content_type = {};
    Outgoing out = Wrap(text_frame, 200, "");
    const RequestHeaders& headers = request.headers;
    if (!headers.access_control_request_headers.empty()) {
      out.headers.emplace_back("Access-Control-Allow-Headers",
                               headers.access_control_request_headers);
    }
    if (!headers.access_control_request_method.empty()) {
      out.headers.emplace_back("Access-Control-Allow-Methods",
                               headers.access_control_request_method);
    }
    out.headers.emplace_back("Access-Control-Max-Age", "172800");
    return out;
  }
  return Wrap(text_frame, 404, "<UnknownOperationException/>\n");
}

}  // namespace stator::api
