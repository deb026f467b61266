// libFuzzer: arbitrary requests against the signature verifier.
//
// Checked are: nothing crashes; bytes that no key signed are refused with one of the errors of the
// contract; a request that the signer signed verifies, in both forms; and the same request with one
// byte changed does not.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "access/verifier.h"
#include "base/ascii.h"

namespace stator::access {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

constexpr int64_t kNow = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

// One long-term and one temporary key.
class FuzzKeys final : public KeySource {
 public:
  KeyLookup Find(std::string_view key_id, std::string_view token) const override {
    KeyLookup lookup;
    if (key_id != "AKIAFUZZ" && key_id != "ASIAFUZZ") return lookup;
    auto credential = std::make_shared<AccessCredential>();
    credential->secret = "secret";
    lookup.credential = std::move(credential);
    lookup.key = KeyState::kActive;
    const std::string_view wanted = key_id == "ASIAFUZZ" ? "token" : "";
    lookup.token = token == wanted ? TokenState::kFits : TokenState::kInvalid;
    return lookup;
  }
};

// Takes a line off the front of the input.
std::string_view NextLine(std::string_view* rest) {
  const size_t end = std::min(rest->find('\n'), rest->size());
  const std::string_view line = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return line;
}

struct Request {
  std::string method;
  std::string target;
  std::vector<OwnedHeader> headers;
  std::string body;
};

// Method, target, header lines up to an empty line, body.
Request Parse(std::string_view text) {
  Request request;
  request.method = NextLine(&text);
  request.target = NextLine(&text);
  for (std::string_view line = NextLine(&text); !line.empty(); line = NextLine(&text)) {
    const size_t colon = std::min(line.find(':'), line.size());
    request.headers.push_back({std::string(line.substr(0, colon)),
                               std::string(line.substr(std::min(colon + 1, line.size())))});
  }
  request.body = text;
  return request;
}

class Fuzz {
 public:
  void Run(std::string_view text) {
    Request request = Parse(text);
    const Result<VerifiedRequest> raw = Verify(request);
    Require(!raw.ok());
    const ErrorCode code = raw.error().code();
    Require(code == ErrorCode::kMissingAuthenticationToken ||
            code == ErrorCode::kIncompleteSignature || code == ErrorCode::kInvalidSignature ||
            code == ErrorCode::kUnrecognizedClient || code == ErrorCode::kExpiredToken);
    Require(!raw.error().message().empty());
    if (request.method.empty() || request.target.empty() || request.target[0] != '/') return;
    SignAndChange(std::move(request), text.size());
  }

 private:
  Result<VerifiedRequest> Verify(const Request& request) {
    std::vector<HeaderLine> lines;
    for (const OwnedHeader& header : request.headers) lines.push_back({header.name, header.value});
    return verifier_.Verify({request.method, request.target, lines, request.body},
                            {"dynamodb", {}});
  }

  void SignAndChange(Request request, size_t choice) {
    // Headers and parameters that take part in a signature are the signer's to add.
    std::erase_if(request.headers, [](const OwnedHeader& header) {
      for (const std::string_view name : {"authorization", "x-amz-date", "date", "host",
                                          "x-amz-security-token", "x-amz-content-sha256"}) {
        if (EqualsIgnoringCase(header.name, name)) return true;
      }
      // A name of other bytes than a header's cannot be listed in SignedHeaders.
      return header.name.empty() || header.name.find_first_of(";=, \t\r\n") != std::string::npos;
    });
    if (request.target.find("Amz-") != std::string::npos ||
        request.target.find('%') != std::string::npos)
      return;
    if (request.headers.size() > 100) return;
    request.headers.push_back({"Host", "localhost"});
    SigningOptions options;
    options.region = "us-east-1";
    options.service = "dynamodb";
    options.now_micros = kNow;
    options.add_content_sha256 = choice % 3 == 0;
    const SigningKey key = choice % 2 == 0 ? SigningKey{"AKIAFUZZ", "secret", ""}
                                           : SigningKey{"ASIAFUZZ", "secret", "token"};
    Request query = request;
    SignRequest(key, options, request.method, request.target, request.body, &request.headers);
    Require(Verify(request).ok());
    query.target =
        PresignTarget(key, options, query.method, query.target, query.body, query.headers, 60);
    Require(Verify(query).ok());

    request.body.push_back('x');
    Require(!Verify(request).ok());
    request.body.pop_back();
    request.method[choice % request.method.size()] ^= 1;
    Require(!Verify(request).ok());
    request.method[choice % request.method.size()] ^= 1;
    std::string& signature = request.headers.back().value;
    signature.back() ^= 1;
    Require(!Verify(request).ok());
    query.target.back() ^= 1;
    Require(!Verify(query).ok());
  }

  const ManualClock clock_{kNow};
  const FuzzKeys keys_{};
  Verifier verifier_{clock_, keys_, "dummy"};
};

}  // namespace
}  // namespace stator::access

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static stator::access::Fuzz fuzz;
  fuzz.Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
