#include "api/service.h"

#include <algorithm>
#include <charconv>

#include "api/attribute_json.h"
#include "api/error_render.h"
#include "base/compress.h"
#include "base/log.h"
#include "table/store.h"

namespace stator::api {
namespace {

constexpr std::string_view kJson10 = "application/x-amz-json-1.0";
constexpr std::string_view kPlainJson = "application/json";
constexpr std::string_view kExposedHeaders =
    "x-amzn-RequestId,x-amzn-ErrorType,x-amz-request-id,x-amz-id-2,x-amzn-ErrorMessage,x-amz-crc32,"
    "Date";

static_assert(kBodyPadding >= simdjson::SIMDJSON_PADDING);

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool EqualsLower(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (Lower(text[i]) != lower[i]) return false;
  }
  return true;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// True if an Accept-Encoding names `coding` and does not give it the weight zero.
bool Accepts(std::string_view accept, std::string_view coding) {
  while (!accept.empty()) {
    const size_t end = std::min(accept.find(','), accept.size());
    const std::string_view element = accept.substr(0, end);
    accept.remove_prefix(std::min(end + 1, accept.size()));
    const size_t semicolon = std::min(element.find(';'), element.size());
    if (!EqualsLower(Trim(element.substr(0, semicolon)), coding)) continue;
    const std::string_view weight = Trim(element.substr(std::min(semicolon + 1, element.size())));
    return !(weight.starts_with("q=0") &&
             weight.find_first_not_of("0.", 2) == std::string_view::npos);
  }
  return false;
}

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

// The thread's parser. A document lives in it until the next Parse on this thread.
Status ParseJson(std::string_view body, simdjson::dom::element* root) {
  thread_local simdjson::dom::parser parser;
  // A huge request must not pin its memory on every thread for good.
  constexpr size_t kKeepBytes = 1u << 20;
  if (parser.capacity() > kKeepBytes && body.size() <= kKeepBytes) parser = simdjson::dom::parser();
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
    case 4: return take("date", &date);
    case 6: return take("origin", &origin);
    case 10: return take("x-amz-date", &x_amz_date);
    case 12: take("x-amz-target", &target); return take("content-type", &content_type);
    case 13: return take("authorization", &authorization);
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
  bool gzip = false;
  bool deflate = false;
};

// Errors that may come from a definition that another process has changed meanwhile: of a table, an
// index, a key.
bool MayBeOutOfDate(ErrorCode code) {
  return code == ErrorCode::kResourceNotFound || code == ErrorCode::kFenced ||
         code == ErrorCode::kValidation;
}

// One request in the hands of an operation.

class Service::Call final : public PendingCall {
 public:
  Call(Service& service, Executor& loop, Frame frame, int64_t started, size_t request_bytes,
       UniqueFunction<void(Outgoing)> done)
      : service_(service),
        context_{.env = service.environment_, .loop = loop, .item_writer = WriteListedItem},
        frame_(std::move(frame)),
        started_(started),
        request_bytes_(request_bytes),
        done_(std::move(done)) {}
  ~Call() override {
    if (done_) LogError("request_dropped", {{"operation", operation_name()}, {"table", table_}});
  }

  void SetOperation(const Operation* operation) {
    operation_ = operation;
    context_.operation = operation->name;
  }

  ops::Context& context() override { return context_; }
  void NoteTable(std::string_view table) override {
    if (service_.observer_ != nullptr) table_ = table;
  }
  void Succeed(std::string body, int64_t items) override {
    if (!context_.faults.lost) return Answer(200, "", std::move(body), items);
    context_.faults.refused = true;
    Fail(InternalError(""));
  }
  void Fail(const Error& error) override {
    if (!context_.catalog_known && MayBeOutOfDate(error.code())) {
      UniqueFunction<void(Outgoing)> done = std::move(done_);
      if (!done) return;
      Outgoing again;
      again.again = true;
      return done(std::move(again));
    }
    RenderedError rendered = RenderError(error);
    if (IsServerFault(error.code()) && !context_.faults.refused) {
      LogError("request_failed", {{"operation", operation_name()},
                                  {"table", table_},
                                  {"code", ErrorCodeName(error.code())},
                                  {"message", error.message()}});
    }
    Answer(rendered.status, rendered.name, std::move(rendered.body), 0);
  }

 private:
  std::string_view operation_name() const {
    return operation_ == nullptr ? std::string_view() : operation_->name;
  }

  void Answer(int status, std::string_view error, std::string body, int64_t items) {
    if (!done_) return;
    Outgoing outgoing = service_.Wrap(frame_, status, std::move(body));
    if (service_.observer_ != nullptr) {
      RequestRecord record;
      record.operation = operation_name();
      record.table = table_;
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
  const int64_t started_;
  const size_t request_bytes_;
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
      tap_(tap) {
  for (const std::string& origin : options_.allowed_origins)
    any_origin_ = any_origin_ || origin == "*";
}

Service::~Service() = default;

bool Service::MayWait(std::string_view target) const {
  const Operation* operation = registry_.Find(target);
  return operation != nullptr && operation->subject == Subject::kDefinitions;
}

void Service::Handle(const Incoming& request, Executor& loop, UniqueFunction<void(Outgoing)> done) {
  Frame frame = FrameFor(request.headers);
  const std::string_view path = request.target.substr(0, request.target.find('?'));
  if (request.method != "POST" || path != "/" || frame.content_type.empty()) {
    done(AnswerOther(request, frame));
    return;
  }
  const int64_t started = observer_ == nullptr ? 0 : environment_.clock.TicksMicros();
  auto call = std::make_unique<Call>(*this, loop, std::move(frame), started, request.body.size(),
                                     std::move(done));
  std::string decompressed;
  simdjson::dom::element body;
  Result<const Operation*> operation = Admit(request, &decompressed, &body);
  if (!operation.ok()) return call->Fail(operation.error());
  call->SetOperation(*operation);
  if (environment_.store.shared()) {
    // Other processes change the catalog too.
    if (request.may_wait || (*operation)->subject == Subject::kDefinitions) {
      if (const Status known = environment_.store.Refresh(); !known.ok())
        return call->Fail(known.error());
    } else {
      call->context().catalog_known = false;
    }
  }
  const Status allowed = authenticator_->Authenticate(
      {request.headers.authorization, request.headers.x_amz_date, request.headers.date,
       request.target.substr(std::min(path.size() + 1, request.target.size()))});
  if (!allowed.ok()) return call->Fail(allowed.error());
  if (tap_ != nullptr && tap_->on()) [[unlikely]] {
    (*operation)->RunTapped(body, std::move(call), *tap_);
  } else {
    (*operation)->Run(body, std::move(call));
  }
}

Result<const Operation*> Service::Admit(const Incoming& request, std::string* decompressed,
                                        simdjson::dom::element* body) const {
  if (request.body.size() > options_.max_body_bytes) {
    return Error(ErrorCode::kRequestTooLarge, "Request body is too large");
  }
  std::string_view text = request.body;
  const std::string_view encoding = request.headers.content_encoding;
  if (!encoding.empty() && !EqualsLower(encoding, "identity")) {
    const bool gzip = EqualsLower(encoding, "gzip");
    if (!gzip && !EqualsLower(encoding, "deflate"))
      return InternalError("Unsupported Content-Encoding");
    ASSIGN_OR_RETURN(*decompressed, Decompress(gzip ? Encoding::kGzip : Encoding::kDeflate, text,
                                               options_.max_body_bytes));
    const size_t size = decompressed->size();
    decompressed->append(kBodyPadding, '\0');
    text = std::string_view(*decompressed).substr(0, size);
  }
  TRY(ParseJson(text, body));
  const Operation* operation = registry_.Find(request.headers.target);
  if (operation == nullptr) return Error(ErrorCode::kUnknownOperation, "");
  return operation;
}

Service::Frame Service::FrameFor(const RequestHeaders& headers) const {
  Frame frame;
  const std::string_view type =
      Trim(headers.content_type.substr(0, headers.content_type.find(';')));
  if (!EqualsLower(type, kJson10))
    frame.content_type = EqualsLower(type, kPlainJson) ? kPlainJson : std::string_view();
  if (!headers.accept_encoding.empty()) {
    frame.gzip = Accepts(headers.accept_encoding, "gzip");
    frame.deflate = !frame.gzip && Accepts(headers.accept_encoding, "deflate");
  }
  if (!headers.origin.empty()) {
    const auto& allowed = options_.allowed_origins;
    if (any_origin_) {
      frame.allowed_origin = "*";
    } else if (std::find(allowed.begin(), allowed.end(), headers.origin) != allowed.end()) {
      frame.allowed_origin = headers.origin;
    }
  }
  return frame;
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
    if (!any_origin_) out.headers.emplace_back("Vary", "Origin");
  }
  out.body = std::move(body);
  return out;
}

// Everything that is no API request: health probes, CORS preflights, and the rest.
Outgoing Service::AnswerOther(const Incoming& request, const Frame& frame) const {
  const std::string_view path = request.target.substr(0, request.target.find('?'));
  Frame text_frame = frame;
  text_frame.content_type = "text/plain";
  if (path == "/" && request.method == "GET") {
    return Wrap(text_frame, 200,
                "healthy: dynamodb." + environment_.settings.region + ".amazonaws.com ");
  }
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
