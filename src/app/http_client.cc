// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/http_client.h"

#include <array>
#include <string>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace keymill::app {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Error = boost::system::error_code;

struct Url {
  std::string host;
  std::string port = "80";
};

Result<Url> ParseUrl(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  const Status bad(Code::kInvalidArgument,
                   fmt::format("--server \"{}\": use http://HOST:PORT", text));
  if (!text.starts_with(kScheme)) return bad;
  text.remove_prefix(kScheme.size());
  while (text.ends_with('/')) text.remove_suffix(1);
  if (text.empty() || text.find('/') != std::string_view::npos) return bad;
  Url url;
  const std::size_t colon = text.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos;
  url.host = text.substr(0, has_port ? colon : text.size());
  if (has_port) url.port = text.substr(colon + 1);
  if (url.host.starts_with('[') && url.host.ends_with(']')) {
    url.host = url.host.substr(1, url.host.size() - 2);
  }
  if (url.host.empty() || url.port.empty()) return bad;
  return url;
}

Status ServerSaid(int status, const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  const std::string detail = json.is_object() ? json.value("detail", body) : body;
  const Code code = status == 404   ? Code::kNotFound
                    : status == 507 ? Code::kExhausted
                    : status < 500  ? Code::kInvalidArgument
                                    : Code::kUnavailable;
  return {code, fmt::format("the server said {}: {}", status, detail)};
}

}  // namespace

Status MintOverHttp(std::string_view url_text, std::string_view keyspace, std::uint64_t count,
                    const std::function<void(std::string_view)>& sink) {
  Result<Url> url = ParseUrl(url_text);
  if (!url.ok()) return url.status();
  const auto failed = [&](std::string_view what, const Error& error) {
    return Status(Code::kUnavailable, fmt::format("{} {}: {}", what, url_text, error.message()));
  };
  asio::io_context context;
  asio::ip::tcp::resolver resolver(context);
  asio::ip::tcp::socket socket(context);
  Error error;
  const auto endpoints = resolver.resolve(url->host, url->port, error);
  if (error) return failed("find", error);
  asio::connect(socket, endpoints, error);
  if (error) return failed("connect to", error);
  http::request<http::empty_body> request(
      http::verb::post, fmt::format("/v1/keyspaces/{}/keys?count={}", keyspace, count), 11);
  request.set(http::field::host, url->host);
  request.set(http::field::accept, "text/plain");
  request.set(http::field::content_length, "0");
  http::write(socket, request, error);
  if (error) return failed("ask", error);

  boost::beast::flat_buffer buffer;
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(boost::none);
  http::read_header(socket, buffer, parser, error);
  if (error) return failed("read from", error);
  std::string problem;
  const auto status = static_cast<int>(parser.get().result_int());
  std::array<char, 64 * 1024> piece{};
  while (!parser.is_done()) {
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    http::read_some(socket, buffer, parser, error);
    if (error == http::error::need_buffer) error = {};
    if (error) return failed("read from", error);
    const std::string_view got(piece.data(), piece.size() - parser.get().body().size);
    if (status == 200) {
      sink(got);
    } else {
      problem += got;
    }
  }
  return status == 200 ? Status() : ServerSaid(status, problem);
}

}  // namespace keymill::app
