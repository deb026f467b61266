#include "s3/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>
#include <utility>

#include "api_client/signed_headers.h"
#include "base/printable.h"
#include "s3/xml.h"

namespace stator::s3 {
namespace {

constexpr size_t kMostIdle = 8;
// Objects of a page, of which 1000 are asked for, and pages without one in a row.
constexpr size_t kMostOnPage = 10'000;
constexpr int kMostEmptyPages = 100;
constexpr size_t kMostShown = 300;  // of a message of the server

std::string Encoded(std::string_view text, bool keep_slash) {
  std::string out;
  access::AppendUriEncoded(text, keep_slash, &out);
  return out;
}

std::string TargetOf(std::string_view bucket, std::string_view key) {
  return fmt::format("/{}/{}", Encoded(bucket, false), Encoded(key, true));
}

bool IsWorthAnotherTry(const egress::Reply& reply) {
  if (reply.status == 429 || reply.status >= 500) return reply.status != 501;
  return reply.status == 400 && TextIn(reply.body, "Code") == "RequestTimeout";
}

uint64_t NumberIn(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// S3 begins the answer to the end of an upload before it knows the outcome: 200 may hold an error.
bool IsGood(std::string_view method, const egress::Reply& reply) {
  return reply.status < 300 && (method != "POST" || !ElementIn(reply.body, "Error"));
}

}  // namespace

struct Client::Request {
  std::string_view method;
  std::string target;
  egress::Headers headers = {};
  std::string_view body = {};
};

// A connection of the client, for one call.
class Client::Connection {
 public:
  explicit Connection(Client& client) : client_(client) {
    const MutexLock lock(client_.mutex_);
    if (client_.idle_.empty()) {
      http_ = std::make_unique<egress::Client>(client_.options_.endpoint, client_.options_.limits,
                                               client_.options_.trust, client_.clock_);
    } else {
      http_ = std::move(client_.idle_.back());
      client_.idle_.pop_back();
    }
    if (client_.cancelled_) http_->Cancel();
    client_.busy_.push_back(http_.get());
  }
  ~Connection() {
    const MutexLock lock(client_.mutex_);
    std::erase(client_.busy_, http_.get());
    if (client_.idle_.size() < kMostIdle && !client_.cancelled_)
      client_.idle_.push_back(std::move(http_));
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  egress::Client& http() { return *http_; }

 private:
  Client& client_;
  std::unique_ptr<egress::Client> http_;
};

Client::Client(Options options, const Clock& clock)
    : options_([&options] {
        if (!options.pause) {
          options.pause = [](int64_t micros) {
            std::this_thread::sleep_for(std::chrono::microseconds(micros));
          };
        }
        return std::move(options);
      }()),
      clock_(clock) {}

Client::~Client() = default;

void Client::Cancel() {
  const MutexLock lock(mutex_);
  cancelled_ = true;
  for (egress::Client* const each : busy_) each->Cancel();
}

Error Client::Refused(const Request& request, const egress::Reply& reply) const {
  std::string code = TextIn(reply.body, "Code");
  if (code.empty()) {  // HEAD has no body
    code = reply.status == 404   ? "not found"
           : reply.status == 403 ? "forbidden"
           : reply.status >= 300 && reply.status < 400
               ? "a redirect: the bucket is at another endpoint or in another Region"
               : "no reason given";
  }
  const std::string message = TextIn(reply.body, "Message").substr(0, kMostShown);
  const std::string path = request.target.substr(0, request.target.find('?'));
  const ErrorCode kind = reply.status == 404   ? ErrorCode::kResourceNotFound
                         : reply.status == 403 ? ErrorCode::kAccessDenied
                                               : ErrorCode::kUnavailable;
  return Error(kind, fmt::format("{} {}{}: {} {}{}{}", request.method, place(), path, reply.status,
                                 code, message.empty() ? "" : ": ", message));
}

Result<egress::Reply> Client::SendOnce(const Request& request) {
  const api_client::Signature signature{.key = options_.key,
                                        .region = options_.region,
                                        .service = "s3",
                                        .now_micros = clock_.NowMicros(),
                                        .path = access::PathStyle::kVerbatim,
                                        .add_content_sha256 = true};
  const egress::Headers headers = api_client::SignedHeaders(
      signature, options_.endpoint, request.method, request.target, request.body, request.headers);
  Connection connection(*this);
  return connection.http().Call(request.method, request.target, headers, request.body);
}

Result<egress::Reply> Client::Send(const Request& request) {
  int64_t pause = options_.first_pause_micros;
  for (int tries = 1;; ++tries) {
    Result<egress::Reply> reply = SendOnce(request);
    const bool last = tries >= options_.tries;
    if (reply.ok()) {
      if (IsGood(request.method, *reply)) return reply;
      const bool again = IsWorthAnotherTry(*reply) || reply->status < 300;
      if (last || !again) return Refused(request, *reply);
    } else {
      const egress::Failure failure = egress::FailureOf(reply.error());
      if (last || failure == egress::Failure::kTls || failure == egress::Failure::kTooLong ||
          failure == egress::Failure::kCancelled) {
        const std::string path = request.target.substr(0, request.target.find('?'));
        return Error(ErrorCode::kUnavailable, fmt::format("{} {}{}: {}", request.method, place(),
                                                          path, reply.error().message()));
      }
    }
    options_.pause(pause);
    pause *= 2;
  }
}

Status Client::CheckBucket(const std::string& bucket) {
  const Result<egress::Reply> reply = Send({"HEAD", "/" + Encoded(bucket, false)});
  return reply.ok() ? OkStatus() : Status(reply.error());
}

Status Client::MakeBucket(const std::string& bucket) {
  Status there = CheckBucket(bucket);
  if (there.ok() || there.error().code() != ErrorCode::kResourceNotFound) return there;
  const std::string body =
      options_.region == "us-east-1"
          ? ""
          : fmt::format(
                "<CreateBucketConfiguration><LocationConstraint>{}</LocationConstraint>"
                "</CreateBucketConfiguration>",
                options_.region);
  const Result<egress::Reply> reply = Send({"PUT", "/" + Encoded(bucket, false), {}, body});
  return reply.ok() ? OkStatus() : Status(reply.error());
}

Result<Properties> Client::Describe(const std::string& bucket, const std::string& key) {
  ASSIGN_OR_RETURN(const egress::Reply reply, Send({"HEAD", TargetOf(bucket, key)}));
  return Properties{NumberIn(reply.header("Content-Length")), std::string(reply.header("ETag"))};
}

Result<std::string> Client::Get(const std::string& bucket, const std::string& key, uint64_t offset,
                                size_t bytes, const std::string& etag) {
  if (bytes == 0) return std::string();
  Request request{"GET", TargetOf(bucket, key)};
  request.headers.emplace_back("Range", fmt::format("bytes={}-{}", offset, offset + bytes - 1));
  if (!etag.empty()) request.headers.emplace_back("If-Match", etag);
  ASSIGN_OR_RETURN(egress::Reply reply, Send(request));
  if (reply.status != 206 && (offset != 0 || reply.body.size() > bytes)) {
    return Error(
        ErrorCode::kUnavailable,
        fmt::format("GET {}{}: the server sends whole objects only", place(), request.target));
  }
  return std::move(reply.body);
}

Status Client::Put(const std::string& bucket, const std::string& key, std::string_view body) {
  const Result<egress::Reply> reply = Send({"PUT", TargetOf(bucket, key), {}, body});
  return reply.ok() ? OkStatus() : Status(reply.error());
}

Status Client::Delete(const std::string& bucket, const std::string& key) {
  const Result<egress::Reply> reply = Send({"DELETE", TargetOf(bucket, key)});
  if (reply.ok() || reply.error().code() == ErrorCode::kResourceNotFound) return OkStatus();
  return reply.error();
}

Result<Page> Client::List(const std::string& bucket, std::string_view prefix,
                          const std::string& from) {
  // The keys come percent-encoded, so that any byte can stand in them.
  std::string target = fmt::format("/{}?list-type=2&encoding-type=url&max-keys=1000&prefix={}",
                                   Encoded(bucket, false), Encoded(prefix, false));
  if (!from.empty()) target += "&continuation-token=" + Encoded(from, false);
  ASSIGN_OR_RETURN(const egress::Reply reply, Send({"GET", std::move(target)}));
  Page page;
  const std::vector<std::string_view> all = ElementsIn(reply.body, "Contents", kMostOnPage + 1);
  if (all.size() > kMostOnPage) {
    return Error(
        ErrorCode::kUnavailable,
        fmt::format("GET {}/{}: the answer has more than {} objects, of the 1000 that were "
                    "asked for",
                    place(), bucket, kMostOnPage));
  }
  for (const std::string_view contents : all) {
    const std::string encoded = TextIn(contents, "Key");
    // A key that was sent as the value of a form: '+' is a blank.
    std::string plain = encoded;
    std::replace(plain.begin(), plain.end(), '+', ' ');
    const std::vector<access::QueryParameter> decoded = access::ParseQuery("k=" + plain);
    std::string key = decoded.empty() ? encoded : decoded.front().value;
    if (!key.starts_with(prefix)) {  // callers take the prefix off
      return Error(ErrorCode::kUnavailable,
                   fmt::format("GET {}/{}: the answer has the object {}, which does not begin with "
                               "the prefix that was asked for, {}",
                               place(), bucket, Printable(key.substr(0, kMostShown)), prefix));
    }
    page.objects.push_back(
        {std::move(key), NumberIn(TextIn(contents, "Size")), TextIn(contents, "LastModified")});
  }
  if (TextIn(reply.body, "IsTruncated") == "true")
    page.next = TextIn(reply.body, "NextContinuationToken");
  return page;
}

Status Client::ListAll(const std::string& bucket, std::string_view prefix, size_t most,
                       FunctionRef<Status(const Object& object)> visit) {
  std::string from;
  size_t visited = 0;
  int empty = 0;
  while (true) {
    ASSIGN_OR_RETURN(const Page page, List(bucket, prefix, from));
    for (const Object& object : page.objects) {
      if (visited++ == most) {
        return Error(ErrorCode::kLimitExceeded,
                     fmt::format("{}/{} has more than {} objects that begin with {}", place(),
                                 bucket, most, prefix));
      }
      TRY(visit(object));
    }
    // A server that goes round in circles is left.
    if (page.next.empty() || page.next == from) return OkStatus();
    empty = page.objects.empty() ? empty + 1 : 0;
    if (empty == kMostEmptyPages) {
      return Error(ErrorCode::kUnavailable,
                   fmt::format("GET {}/{}: {} pages without an object, and there are to be more",
                               place(), bucket, empty));
    }
    from = page.next;
  }
}

Result<std::string> Client::BeginParts(const std::string& bucket, const std::string& key) {
  ASSIGN_OR_RETURN(const egress::Reply reply, Send({"POST", TargetOf(bucket, key) + "?uploads="}));
  std::string upload = TextIn(reply.body, "UploadId");
  if (!upload.empty()) return upload;
  return Error(ErrorCode::kUnavailable,
               fmt::format("POST {}: the answer has no UploadId", place()));
}

Result<std::string> Client::PutPart(const std::string& bucket, const std::string& key,
                                    const std::string& upload, int number, std::string_view body) {
  ASSIGN_OR_RETURN(const egress::Reply reply,
                   Send({"PUT",
                         fmt::format("{}?partNumber={}&uploadId={}", TargetOf(bucket, key), number,
                                     Encoded(upload, false)),
                         {},
                         body}));
  return std::string(reply.header("ETag"));
}

Status Client::CompleteParts(const std::string& bucket, const std::string& key,
                             const std::string& upload, const std::vector<std::string>& etags) {
  std::string body = "<CompleteMultipartUpload>";
  for (size_t i = 0; i < etags.size(); ++i) {
    body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1, etags[i]);
  }
  body += "</CompleteMultipartUpload>";
  const Result<egress::Reply> reply =
      Send({"POST",
            fmt::format("{}?uploadId={}", TargetOf(bucket, key), Encoded(upload, false)),
            {},
            body});
  if (reply.ok()) return OkStatus();
  // An earlier try may have completed it, and its answer was lost.
  if (reply.error().code() == ErrorCode::kResourceNotFound) {
    const Result<Properties> there = Describe(bucket, key);
    if (there.ok() && there->etag.find('-') != std::string::npos) return OkStatus();
  }
  return reply.error();
}

Status Client::AbortParts(const std::string& bucket, const std::string& key,
                          const std::string& upload) {
  const Result<egress::Reply> reply = Send(
      {"DELETE", fmt::format("{}?uploadId={}", TargetOf(bucket, key), Encoded(upload, false))});
  if (reply.ok() || reply.error().code() == ErrorCode::kResourceNotFound) return OkStatus();
  return reply.error();
}

}  // namespace stator::s3
