#include "server/caller_identity.h"

#include <fmt/format.h>

#include <string>

#include "iam/form.h"
#include "iam/service.h"

namespace stator::server {
namespace {

constexpr size_t kMostBytes = 4096;  // of the form: it has two parameters

}  // namespace

std::optional<http::Reply> AnswerCallerIdentity(const http::Request& request,
                                                const ops::Environment& environment,
                                                std::string_view account) {
  if (request.method != "POST" || request.body.size() > kMostBytes ||
      !iam::Service::Owns(request.method, request.target, request.header("Content-Type"))) {
    return std::nullopt;
  }
  const Result<iam::Form> form = iam::Form::Parse(request.body);
  if (!form.ok() || form->Get("Action") != "GetCallerIdentity" ||
      form->Get("Version") != "2011-06-15") {
    return std::nullopt;
  }
  http::Reply reply;
  reply.status = 200;
  reply.headers.emplace_back("Content-Type", "text/xml");
  reply.body = fmt::format(
      "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
      "<GetCallerIdentityResult><Arn>arn:aws:iam::{0}:root</Arn><UserId>{0}</UserId>"
      "<Account>{0}</Account></GetCallerIdentityResult><ResponseMetadata><RequestId>"
      "{1:08x}-0000-4000-a000-{2:012x}</RequestId></ResponseMetadata>"
      "</GetCallerIdentityResponse>",
      account, environment.random.Next() & 0xffffffff, environment.random.Next() >> 16);
  return reply;
}

}  // namespace stator::server
