// SPDX-License-Identifier: GPL-2.0-only
// Fetches a URL with both of Java's clients and prints status, HTTP version and body of each.
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Scanner;
import javax.net.ssl.HttpsURLConnection;

public class Get {
	static void newClient(String url) throws Exception {
		HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
		HttpResponse<String> reply =
			HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
		System.out.println(reply.statusCode() + " " + reply.version() + " " + reply.body());
	}

	static void oldClient(String url) throws Exception {
		HttpsURLConnection conn = (HttpsURLConnection) new URL(url).openConnection();
		System.out.print(conn.getResponseCode() + " URLConnection ");
		try (Scanner body = new Scanner(conn.getInputStream())) {
			System.out.println(body.nextLine());
		}
	}

	public static void main(String[] args) {
		try {
			newClient(args[0]);
			oldClient(args[0]);
		} catch (Exception error) {
			System.out.println("failed: " + error);
			System.exit(1);
		}
	}
}
