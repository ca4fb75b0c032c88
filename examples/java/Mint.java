// Copyright (c) 2026 The Keymill Authors. See LICENSE.

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;

/**
 * Keys over HTTP, with nothing but Java's own library: one key in a line needs no JSON.
 *
 * <pre>java Mint.java [URL [COUNT]]     prints COUNT keys of the keyspace "default"</pre>
 */
public final class Mint {
  private final HttpClient http =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();
  private final URI server;

  public Mint(URI server) {
    this.server = server;
  }

  /** Returns so many new keys of a keyspace. */
  public List<String> mint(String keyspace, int count) throws IOException, InterruptedException {
    var request =
        HttpRequest.newBuilder(
                server.resolve("/v1/keyspaces/" + keyspace + "/keys?count=" + count))
            .header("Accept", "text/plain")
            .timeout(Duration.ofSeconds(10))
            .POST(HttpRequest.BodyPublishers.noBody())
            .build();
    var answer = http.send(request, BodyHandlers.ofString());
    if (answer.statusCode() != 200) {
      throw new IOException(answer.statusCode() + ": " + answer.body());
    }
    return answer.body().lines().toList();
  }

  public static void main(String[] words) throws IOException, InterruptedException {
    var server = URI.create(words.length > 0 ? words[0] : "http://127.0.0.1:8080");
    var count = words.length > 1 ? Integer.parseInt(words[1]) : 3;
    new Mint(server).mint("default", count).forEach(System.out::println);
  }
}
