// libFuzzer: arbitrary text as a token of an identity provider, and as its set of keys.
//
// The input is a header, claims and a signature, or the text of a token; the rest is a set of keys.
// Checked are: nothing crashes; an error is a validation error with a text; what a token says keeps
// its bounds; its text is read the same twice; a set of keys keeps its bounds; and no key of the
// input verifies a token that names none of it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "access/web_token.h"
#include "base/base64.h"

namespace stator::access {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

std::string UrlSafe(std::string_view bytes) {
  std::string text(Base64Length(bytes.size()), '\0');
  EncodeBase64(bytes, text.data());
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

// Takes the text before the next 0xff, which stands in no UTF-8.
std::string_view Next(std::string_view* input) {
  const size_t end = std::min(input->find('\xff'), input->size());
  const std::string_view part = input->substr(0, end);
  input->remove_prefix(std::min(end + 1, input->size()));
  return part;
}

void CheckToken(const std::string& text, std::string_view set) {
  const Result<WebToken> token = WebToken::Parse(text);
  if (!token.ok()) {
    Require(token.error().code() == ErrorCode::kValidation && !token.error().message().empty());
    return;
  }
  Require(text.size() <= kMaxWebTokenBytes);
  for (const std::string* claim :
       {&token->issuer, &token->subject, &token->audience, &token->key_id}) {
    Require(!claim->empty() && claim->size() <= 255);
    Require(std::none_of(claim->begin(), claim->end(),
                         [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  }
  Require(token->methods.size() <= 32);
  Require(token->expires_micros >= 0 && token->issued_micros >= 0);
  Require(text.starts_with(token->signed_text + "."));
  Require(!token->CheckTimes(token->expires_micros).ok());
  Require(UrlSafe(token->signature) == text.substr(token->signed_text.size() + 1));
  const auto keys = WebKeys::Parse(set);
  if (!keys.ok()) return;
  if (!(*keys)->Has(token->algorithm, token->key_id)) Require(!(*keys)->Verify(*token));
  // One signature is not that of two texts.
  WebToken other = *token;
  other.signed_text += "A";
  Require(!(*keys)->Verify(*token) || !(*keys)->Verify(other));
}

void Run(std::string_view input) {
  const std::string_view header = Next(&input), claims = Next(&input), signature = Next(&input);
  CheckToken(std::string(header), claims);
  CheckToken(UrlSafe(header) + "." + UrlSafe(claims) + "." + UrlSafe(signature), input);
}

}  // namespace
}  // namespace stator::access

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stator::access::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
