package dev.genv.enforcer.testsupport.browser;

import com.microsoft.playwright.Page;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;

/**
 * The pictures of the page in the documents. A test takes them in each build, into {@code target/pictures}. With
 * {@code -Dpictures.write=true} they replace those of the documents, and the digest of the page's files beside them becomes the present one.
 */
public final class Pictures {
    /** The pictures of the documents. */
    public static final Path FOLDER = Path.of("src/site/resources/images");
    /** The names of all pictures, without their ending. */
    public static final List<String> NAMES = List.of("hosts", "story", "plan", "report");

    private static final boolean IS_WRITTEN = Boolean.getBoolean("pictures.write");
    private static final Path TAKEN = Path.of("target/pictures");
    private static final Path DIGEST = FOLDER.resolve("page.sha256");
    private static final Path PAGE = Path.of("src/main/resources/META-INF/resources");

    private Pictures() {}

    /** Takes the picture of what a window shows. */
    public static void take(Window window, String name, int width, int height) throws IOException {
        var page = window.page();
        page.setViewportSize(width, height);
        var folder = IS_WRITTEN ? FOLDER : Files.createDirectories(TAKEN);
        page.screenshot(new Page.ScreenshotOptions().setPath(folder.resolve(name + ".png")));
        if (IS_WRITTEN && name.equals(NAMES.getLast())) {
            Files.writeString(DIGEST, digestOfPage() + "\n");
        }
    }

    /** The SHA-256 of the names and the contents of all files of the page. */
    public static String digestOfPage() throws IOException {
        try (var files = Files.walk(PAGE)) {
            var digest = MessageDigest.getInstance("SHA-256");
            files.filter(Files::isRegularFile).sorted().forEach(file -> {
                try {
                    digest.update(PAGE.relativize(file).toString().getBytes(StandardCharsets.UTF_8));
                    digest.update((byte) 0);
                    digest.update(Files.readAllBytes(file));
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e); // every Java has it
        }
    }

    /** The digest of the page of which the pictures of the documents were taken. */
    public static String recordedDigest() throws IOException {
        return Files.readString(DIGEST).strip();
    }
}
