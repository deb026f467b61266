#include "egress/client.h"

#include <fmt/format.h>
#include <http_parser.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "base/ascii.h"
#include "egress/channel.h"

namespace stator::egress {
namespace {

Error Fail(Failure failure, std::string why) {
  return Error(ErrorCode::kUnavailable, std::move(why), std::make_shared<FailurePayload>(failure));
}

// Reads one reply; interim replies (1xx) are passed over.
class ReplyReader {
 public:
  ReplyReader(const Limits& limits, size_t most_kept, bool has_body)
      : limits_(limits), most_kept_(most_kept), has_body_(has_body) {
    http_parser_init(&parser_, HTTP_RESPONSE);
    parser_.data = this;
    http_parser_settings_init(&settings_);
    settings_.on_header_field = [](http_parser* p, const char* at, size_t size) {
      return Of(p).OnField({at, size});
    };
    settings_.on_header_value = [](http_parser* p, const char* at, size_t size) {
      return Of(p).OnValue({at, size});
    };
    settings_.on_headers_complete = [](http_parser* p) {
      Of(p).in_body_ = true;
      return Of(p).has_body_ ? 0 : 1;
    };
    settings_.on_body = [](http_parser* p, const char* at, size_t size) {
      return Of(p).OnBody({at, size});
    };
    settings_.on_message_complete = [](http_parser* p) { return Of(p).OnComplete(); };
  }

  // Takes received bytes, or the end if there are none. True: the reply is complete.
  Result<bool> Take(std::string_view bytes) {
    if (!in_body_) {
      header_bytes_ += bytes.size();
      // `header_bytes_` also counts bytes of the body that arrived with the headers. So the limit
      // is checked with one read more.
      if (header_bytes_ > limits_.header_bytes + kReadBytes)
        return Fail(Failure::kTooLong, "the headers of the answer are too long");
    }
    const size_t parsed = http_parser_execute(&parser_, &settings_, bytes.data(), bytes.size());
    if (done_) {
      keep_alive_ = keep_alive_ && parsed == bytes.size();
      return true;
    }
    if (too_long_) {
      return Fail(Failure::kTooLong,
                  fmt::format("the answer is longer than {} bytes", limits_.body_bytes));
    }
    if (HTTP_PARSER_ERRNO(&parser_) != HPE_OK)
      return Fail(bytes.empty() ? Failure::kBroken : Failure::kNonsense,
                  bytes.empty() ? "the server closed the connection before the whole answer"
                                : "the answer is no HTTP");
    if (bytes.empty()) {
      return Fail(Failure::kBroken, "the server closed the connection without an answer");
    }
    return false;
  }
  Reply TakeReply() { return std::move(reply_); }
  // The bytes of the body that are kept so far.
  size_t kept() const { return reply_.body.size(); }
  bool keep_alive() const { return keep_alive_; }

  static constexpr size_t kReadBytes = 16 << 10;

 private:
  static ReplyReader& Of(http_parser* parser) { return *static_cast<ReplyReader*>(parser->data); }

  int OnField(std::string_view part) {
    if (in_body_) return 0;  // a trailer
    if (in_value_ || reply_.headers.empty()) reply_.headers.emplace_back();
    in_value_ = false;
    reply_.headers.back().first += part;
    return 0;
  }
  int OnValue(std::string_view part) {
    if (in_body_ || reply_.headers.empty()) return 0;
    in_value_ = true;
    reply_.headers.back().second += part;
    return 0;
  }
  int OnBody(std::string_view part) {
    body_bytes_ += part.size();
    too_long_ = body_bytes_ > limits_.body_bytes;
    if (too_long_) return 1;
    reply_.body += part.substr(0, most_kept_ - std::min(most_kept_, reply_.body.size()));
    return 0;
  }
  int OnComplete() {
    reply_.status = parser_.status_code;
    if (reply_.status < 200 && ++interim_ < 8) {
      reply_ = {};
      in_body_ = in_value_ = false;
      return 0;
    }
    keep_alive_ = http_should_keep_alive(&parser_) != 0;
    done_ = true;
    http_parser_pause(&parser_, 1);
    return 0;
  }

  const Limits& limits_;
  const size_t most_kept_;
  const bool has_body_;  // false: whatever its Content-Length says, as with HEAD
  http_parser parser_;
  http_parser_settings settings_;
  Reply reply_;
  size_t header_bytes_ = 0;
  size_t body_bytes_ = 0;
  int interim_ = 0;
  bool in_value_ = false;
  bool in_body_ = false;
  bool too_long_ = false;
  bool done_ = false;
  bool keep_alive_ = false;
};

constexpr auto kRoomPause = std::chrono::milliseconds(5);

// Sends pieces: short ones together, long ones from where they are.
class Gatherer {
 public:
  Gatherer(Channel& channel, int64_t deadline) : channel_(channel), deadline_(deadline) {}
  Status Add(std::string_view piece) {
    if (piece.size() > sizeof(bytes_) - used_) TRY(Flush());
    if (piece.size() > sizeof(bytes_)) return channel_.Send(piece, deadline_);
    piece.copy(bytes_ + used_, piece.size());
    used_ += piece.size();
    return OkStatus();
  }
  Status Flush() { return channel_.Send({bytes_, std::exchange(used_, 0)}, deadline_); }

 private:
  Channel& channel_;
  const int64_t deadline_;
  char bytes_[16 << 10];
  size_t used_ = 0;
};

// A body of one piece.
class Whole final : public Body {
 public:
  explicit Whole(std::string_view bytes) : bytes_(bytes) {}
  size_t size() const override { return bytes_.size(); }
  Status Visit(Take take) const override { return take(bytes_); }

 private:
  const std::string_view bytes_;
};

}  // namespace

std::string_view NameOf(Failure failure) {
  switch (failure) {
    case Failure::kConnect: return "connect";
    case Failure::kTls: return "tls";
    case Failure::kTimeout: return "timeout";
    case Failure::kBroken: return "broken";
    case Failure::kNonsense: return "nonsense";
    case Failure::kTooLong: return "too-long";
    case Failure::kNoRoom: return "no-room";
    case Failure::kCancelled: return "cancelled";
  }
  return "";
}

Failure FailureOf(const Error& error) {
  const auto* payload = dynamic_cast<const FailurePayload*>(error.payload().get());
  return payload == nullptr ? Failure::kBroken : payload->failure;
}

Result<std::shared_ptr<const TlsTrust>> TlsTrust::Load(const std::string& authorities_file) {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  if (context == nullptr) return InternalError("OpenSSL makes no context");
  std::shared_ptr<const TlsTrust> trust(new TlsTrust(context));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const int loaded = authorities_file.empty()
                         ? SSL_CTX_set_default_verify_paths(context)
                         : SSL_CTX_load_verify_file(context, authorities_file.c_str());
  ERR_clear_error();
  if (loaded != 1)
    return ValidationError("there are no certificates of authorities in " + authorities_file);
  return trust;
}

TlsTrust::~TlsTrust() { SSL_CTX_free(static_cast<SSL_CTX*>(context_)); }

std::string_view Reply::header(std::string_view name) const {
  for (const auto& [each, value] : headers)
    if (EqualsIgnoringCase(each, name)) return value;
  return {};
}

struct Client::Parts {
  Breaker breaker;
  std::unique_ptr<Channel> channel;  // null: there is no connection
};

Client::Client(Url server, Limits limits, std::shared_ptr<const TlsTrust> trust, const Clock& clock)
    : server_(std::move(server)),
      limits_(limits),
      trust_(std::move(trust)),
      clock_(clock),
      parts_(std::make_unique<Parts>()) {}

Client::~Client() = default;

void Client::Cancel() { parts_->breaker.Break(); }

Status Client::AwaitRoom(Keeper* keeper, size_t bytes, int64_t deadline) {
  while (!keeper->MayKeep(bytes)) {
    if (parts_->breaker.broken()) return Fail(Failure::kCancelled, "the call was cancelled");
    if (clock_.TicksMicros() >= deadline)
      return Fail(Failure::kNoRoom, "there was no memory for the answer in time");
    std::this_thread::sleep_for(kRoomPause);
  }
  return OkStatus();
}

Result<Reply> Client::Exchange(std::string_view head, Body& body, Keeper* keeper, int64_t deadline,
                               bool* any_byte) {
  Channel& channel = *parts_->channel;
  Gatherer gatherer(channel, deadline);
  // A server may answer before it has read everything, and close: its answer counts.
  Status sent = gatherer.Add(head);
  if (sent.ok()) sent = body.Visit([&](std::string_view piece) { return gatherer.Add(piece); });
  if (sent.ok()) sent = gatherer.Flush();
  if (!sent.ok() && FailureOf(sent.error()) != Failure::kBroken) return std::move(sent).error();
  body.OnSent();
  const size_t most_kept = keeper == nullptr ? SIZE_MAX : keeper->most();
  ReplyReader reader(limits_, most_kept, !head.starts_with("HEAD "));
  while (true) {
    if (keeper != nullptr && reader.kept() < most_kept) {
      const size_t next = std::min(reader.kept() + ReplyReader::kReadBytes, most_kept);
      TRY(AwaitRoom(keeper, next, deadline));
    }
    char bytes[ReplyReader::kReadBytes];
    ASSIGN_OR_RETURN(const size_t got, channel.Receive(bytes, sizeof(bytes), deadline));
    if (got > 0) *any_byte = true;
    ASSIGN_OR_RETURN(const bool complete, reader.Take({bytes, got}));
    if (!complete) continue;
    if (!reader.keep_alive() || !sent.ok()) parts_->channel.reset();
    return reader.TakeReply();
  }
}

Result<Reply> Client::Call(std::string_view method, std::string_view target, const Headers& headers,
                           std::string_view body) {
  Whole whole(body);
  return Call(method, target, headers, whole, nullptr);
}

Result<Reply> Client::Call(std::string_view method, std::string_view target, const Headers& headers,
                           Body& body, Keeper* keeper) {
  if (parts_->breaker.broken()) return Fail(Failure::kCancelled, "the call was cancelled");
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: stator\r\n", method,
                                 target, server_.authority());
  for (const auto& [name, value] : headers) head += fmt::format("{}: {}\r\n", name, value);
  head += fmt::format("Content-Length: {}\r\n\r\n", body.size());
  const int64_t start = clock_.TicksMicros();
  const int64_t deadline = start + limits_.total_micros;
  if (parts_->channel != nullptr && !parts_->channel->IsIdle()) parts_->channel.reset();
  while (true) {
    const bool reused = parts_->channel != nullptr;
    if (!reused) {
      const int64_t until = std::min(deadline, clock_.TicksMicros() + limits_.connect_micros);
      ASSIGN_OR_RETURN(parts_->channel,
                       Channel::Open(server_, trust_.get(), clock_, until, parts_->breaker));
    }
    bool any_byte = false;
    Result<Reply> reply = Exchange(head, body, keeper, deadline, &any_byte);
    if (reply.ok()) return reply;
    parts_->channel.reset();
    // The server closed the connection while it was idle and the request was on its way.
    if (reused && !any_byte && FailureOf(reply.error()) == Failure::kBroken && body.OnAgain())
      continue;
    return reply;
  }
}

}  // namespace stator::egress
